//! What is seen beside the load: stub_status and the generator host.
