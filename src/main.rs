//! The page: a panic shows itself, then the calculator takes the skeleton's place.

fn main() {
    shardscope::web::start();
}
