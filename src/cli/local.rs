//! The local database of the command line.

use anyhow::{Context as _, bail};
use benchd_store::Store;
use std::path::PathBuf;

/// Opens the database that was asked for, or the user's own.
pub(crate) async fn open_store(database: Option<&str>) -> anyhow::Result<Store> {
    let database = match database {
        Some(database) => database.to_owned(),
        None => usual_file()?.to_string_lossy().into_owned(),
    };
    Store::open(&database).await.context("cannot open the database")
}

/// `benchd.db` among the user's data, so that history grows in one place
/// whatever folder a command is run in.
fn usual_file() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    // A relative path is to be ignored (XDG Base Directory Specification).
    let data = set("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let data = data.or_else(|| set("HOME").map(|home| home.join(".local/share")));
    let Some(data) = data else {
        bail!("neither XDG_DATA_HOME nor HOME is set: say where the database is with --database");
    };
    Ok(data.join("benchd").join("benchd.db"))
}
