mod annotations;
mod changes;
mod latest;
mod results;
mod series;
mod variables;
