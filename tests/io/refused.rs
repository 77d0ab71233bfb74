//! Requests that are no requests.

use shardscope::io::request::{Verb, answer};

#[test]
fn no_verb_answers_what_is_no_request() {
    for verb in Verb::ALL {
        for text in ["null", "[]", "\"x\"", "5", "true", "abc", ""] {
            assert!(answer(verb, text).is_err(), "{} answers {text}", verb.name());
        }
    }
}
