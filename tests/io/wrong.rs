//! The form of a figure that was wrong: its link is the run, its fields are those that the repository has.

use shardscope::core::report::evaluate;
use shardscope::core::run::Run;
use shardscope::core::units::{show_count, significant};
use shardscope::core::whole_run::whole_run;
use shardscope::io::export::Stamp;
use shardscope::io::link::decode;
use shardscope::io::wrong::{Hero, WrongFigure};

fn form() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/.github/ISSUE_TEMPLATE/wrong-figure.yml");
    std::fs::read_to_string(file).unwrap()
}

fn about(figure: Hero) -> (Run, WrongFigure) {
    let run = Run { gpus: 64, tp: 4, ..Run::default() };
    let stamp = Stamp { date: "2026-11-21", address: "https://example.org/x/" };
    let made = WrongFigure::new(figure, &evaluate(&run).unwrap(), &stamp);
    (run, made)
}

#[test]
fn its_link_opens_the_run_and_what_was_measured_is_left_open() {
    for figure in Hero::ALL {
        let (run, made) = about(figure);
        let text = made.text();
        let link = text.split('\n').find(|line| line.starts_with("https://example.org/x/#")).unwrap();
        assert_eq!(decode(link.split_once('#').unwrap().1).run, run);
        assert!(text.contains("### Measured value\n\n_to be filled in_\n"), "{text}");
        assert!(text.contains("2026-11-21"), "{text}");
    }
}

#[test]
fn every_field_and_choice_that_it_fills_is_one_of_the_form() {
    let form = form();
    let (_, choices) = form.split_once("options: [").unwrap();
    let choices: Vec<&str> = choices.split(']').next().unwrap().split(", ").collect();
    for figure in Hero::ALL {
        assert!(choices.contains(&figure.choice()), "{figure:?}");
        let address = about(figure).1.address("https://github.com/someone/fork").unwrap();
        let (page, query) = address.split_once('?').unwrap();
        assert_eq!(page, "https://github.com/someone/fork/issues/new");
        for (key, value) in query.split('&').map(|pair| pair.split_once('=').unwrap()) {
            let is_known = key == "title" || key == "template" || form.contains(&format!("    id: {key}\n"));
            assert!(is_known, "{key}");
            // Nothing in a value begins another one.
            assert!(!value.contains(['#', ' ', '"', '<']), "{key}={value}");
        }
    }
}

/// The whole run's days are those of its verb, and its cost what the steps and all losses take at the price.
#[test]
fn days_and_cost_are_those_of_the_whole_run() {
    let run = decode("v=1&gpus=64&tp=4&tokens_total=2T&price_per_gpu_hour=3").run;
    let evaluation = evaluate(&run).unwrap();
    let (whole, _) = whole_run(&evaluation).unwrap();
    let stamp = Stamp { date: "2026-11-21", address: "https://example.org/x/" };
    let of = |figure: Hero| WrongFigure::new(figure, &evaluation, &stamp).text();
    assert!(of(Hero::Days).contains(&format!("{} days of 2 T tokens", significant(whole.days, 4))));
    assert!(of(Hero::Cost).contains(&format!("${}", show_count(whole.cost.unwrap()).replace(' ', ""))));
    assert!(of(Hero::Cost).contains("at $3.00 each"));
}

#[test]
fn without_a_repository_there_is_no_address() {
    assert_eq!(about(Hero::Step).1.address(""), None);
}
