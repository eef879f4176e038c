//! A managed nginx: found on the machine, configured in a folder of its own,
//! started, reloaded, stopped. Knows nothing of jobs, SQL or the API.

mod error;
mod launcher;
mod locate;
mod managed;
mod options;
mod prefix;
mod process;
mod render;

pub use error::NginxError;
pub use locate::{find_nginx, nginx_version};
pub use managed::ManagedNginx;
pub use options::{NginxOptions, TlsFiles};
