//! The page: reports a panic readably, then mounts the calculator.

fn main() {
    console_error_panic_hook::set_once();
    leptos::mount::mount_to_body(shardscope::ui::App);
}
