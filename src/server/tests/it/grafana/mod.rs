mod annotations;
mod latest;
mod results;
mod series;
mod variables;
