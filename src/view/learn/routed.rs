//! Tokens on their way through a layer of experts: from the router to the experts on their ranks, and back.

use crate::learn::caption::{colours, listed};
use crate::learn::prelude::*;

/// Tokens and experts that are drawn; each rank has an equal share of both.
const TOKENS: usize = 8;
const EXPERTS: usize = 8;
/// Multiples of a token's and an expert's number, and of both, in the scores of the example: no expert is chosen by
/// all tokens, and with two experts a token their loads differ.
const SCORES: [usize; 3] = [37, 23, 11];
/// Scores are below this prime, which makes those of a token differ.
const SCORED: usize = 41;

/// A copy of a token that an expert gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Copy {
    token: usize,
    expert: usize,
}

/// Copies of all tokens, each for the `k` experts with the token's best scores.
fn routed(k: usize) -> Vec<Copy> {
    let score =
        |token: usize, expert: usize| (SCORES[0] * token + SCORES[1] * expert + SCORES[2] * token * expert) % SCORED;
    let chosen = |token: usize| {
        let mut experts: Vec<usize> = (0..EXPERTS).collect();
        experts.sort_by_key(|expert| std::cmp::Reverse(score(token, *expert)));
        experts.into_iter().take(k).map(move |expert| Copy { token, expert })
    };
    (0..TOKENS).flat_map(chosen).collect()
}

/// The rank that has the token or expert `at`, of `ranks`.
fn rank_of(at: usize, ranks: usize) -> usize {
    at * ranks / EXPERTS
}

/// The expert is on another rank than the token.
fn leaves(copy: Copy, ranks: usize) -> bool {
    rank_of(copy.token, ranks) != rank_of(copy.expert, ranks)
}

const ROW: f64 = 22.0;
const HEAD: f64 = 44.0;
/// Left edges of tokens, router, experts and sums, and their width, in shares of the picture's width.
const COLUMNS: [f64; 4] = [0.0, 0.2, 0.55, 0.86];
const WIDE: f64 = 0.14;
const SENT: Ink = Ink::Exposed;
const KEPT: Ink = Ink::Forward;
const EXPERT: Ink = Ink::Memory(0);

/// Tokens that go to `k` experts each, over `ranks` ranks: the picture, its legend and its table.
pub(super) fn tokens(k: u64, ranks: u64) -> [Node; 3] {
    let [k, ranks] = [k, ranks].map(|count| usize::try_from(count).unwrap_or(1).clamp(1, EXPERTS));
    let copies = routed(k);
    let sent = copies.iter().filter(|copy| leaves(**copy, ranks)).count();
    let all = copies.len();
    let words = if ranks > 1 {
        t!("{sent} of {all} copies of tokens leave their rank", sent, all)
    } else {
        t!("{all} copies of {tokens} tokens", all, tokens = TOKENS)
    };
    let picture = draw(&copies, ranks, &words);
    let mut key = vec![(t!("copy of a token, there and back"), KEPT), (t!("expert"), EXPERT)];
    if ranks > 1 {
        key = vec![
            (t!("copy that stays on its rank"), KEPT),
            (t!("copy on its way to another rank or back: all-to-all"), SENT),
            (t!("expert"), EXPERT),
        ];
    }
    [picture, colours(&key), loads(&copies, ranks)]
}

fn draw(copies: &[Copy], ranks: usize, words: &Message) -> Node {
    let mut drawing = Drawing::new(HEAD + ROW * EXPERTS as f64);
    drawing.heading(10.0, words);
    let middle = |at: usize| HEAD + ROW * at as f64 + ROW / 2.0 - 1.0;
    let [tokens, router, experts, sums] = COLUMNS;
    for (x, name) in COLUMNS.into_iter().zip(["tokens", "router", "experts", "sum"]) {
        drawing.words((x + WIDE / 2.0, HEAD - 12.0), Anchor::Middle, Ink::Muted, name);
    }
    // What crosses is drawn last, above what stays.
    for crosses in [false, true] {
        let (ink, width) = if crosses { (SENT, 1.5) } else { (KEPT, 1.5) };
        for copy in copies.iter().filter(|copy| leaves(**copy, ranks) == crosses) {
            let (token, expert) = (middle(copy.token), middle(copy.expert));
            drawing.line((router + WIDE, token), (experts, expert), ink, width);
            drawing.line((experts + WIDE, expert), (sums, token), ink, width);
        }
    }
    let block = |x: f64, from: usize, rows: usize| Box {
        x,
        width: WIDE,
        y: HEAD + ROW * from as f64,
        height: ROW * rows as f64 - 2.0,
    };
    let each = EXPERTS / ranks;
    for rank in 0..ranks {
        // A router is on every rank.
        drawing.fill(block(router, rank * each, each), Ink::Muted, 0.4, "");
        if ranks > 1 {
            drawing.name(middle(rank * each), t!("rank {rank}", rank));
        }
    }
    for at in 0..EXPERTS {
        drawing.line((tokens + WIDE, middle(at)), (router, middle(at)), KEPT, 1.5);
        let numbered = |x: f64| (x + WIDE / 2.0, middle(at));
        for x in [tokens, sums] {
            drawing.fill(block(x, at, 1), Ink::Memory(3), 0.35, "");
            drawing.words(numbered(x), Anchor::Middle, Ink::Text, verbatim(at.to_string()));
        }
        drawing.fill(block(experts, at, 1), EXPERT, 1.0, "");
        drawing.words(numbered(experts), Anchor::Middle, Ink::Paper, verbatim(at.to_string()));
    }
    drawing.inline(t!("Tokens through router and experts: {words}", words))
}

/// Copies that each expert gets.
fn loads(copies: &[Copy], ranks: usize) -> Node {
    let row = |expert: usize| {
        let own: Vec<Copy> = copies.iter().copied().filter(|copy| copy.expert == expert).collect();
        let from_others = own.iter().filter(|copy| leaves(**copy, ranks)).count();
        let named: Vec<String> = own.iter().map(|copy| copy.token.to_string()).collect();
        let named = if named.is_empty() { "–".to_owned() } else { named.join(", ") };
        let figures = [expert, rank_of(expert, ranks), own.len(), from_others].map(|count| count.to_string());
        figures.into_iter().chain([named]).map(verbatim).collect()
    };
    let head = ["expert", "its rank", "copies that it gets", "of them from other ranks", "tokens"];
    listed("Copies by expert", &head, (0..EXPERTS).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mixtral, section 2.1: a token goes to its K best experts, and its output is the sum of what comes back from
    /// them. So K different arrows leave each token, all of them reach an expert, and as many come back.
    #[test]
    fn k_copies_of_each_token_go_out_and_come_back() {
        for k in [1, 2, 4, 8] {
            let copies = routed(k);
            for token in 0..TOKENS {
                let mut experts: Vec<usize> =
                    copies.iter().filter(|copy| copy.token == token).map(|copy| copy.expert).collect();
                experts.sort_unstable();
                experts.dedup();
                assert_eq!(experts.len(), k, "token {token}");
            }
            let load = |expert: usize| copies.iter().filter(|copy| copy.expert == expert).count();
            assert_eq!((0..EXPERTS).map(load).sum::<usize>(), k * TOKENS);
            // Drawn: token to router once each, router to expert and expert to sum once a copy.
            let [picture, ..] = tokens(k as u64, 4);
            assert_eq!(picture.to_html().matches("<line").count(), TOKENS + 2 * k * TOKENS);
        }
    }

    /// Where tokens go to experts evenly, the share `(e - 1) / e` of their copies leaves the rank, as the volume of an
    /// all-to-all says; with as many experts a token as there are, they do.
    #[test]
    fn the_share_that_leaves_a_rank_is_that_of_an_all_to_all() {
        for ranks in [1, 2, 4, 8] {
            let copies = routed(EXPERTS);
            let sent = copies.iter().filter(|copy| leaves(**copy, ranks)).count();
            assert_eq!(sent * ranks, copies.len() * (ranks - 1));
        }
    }

    /// The example is not even: some expert has more than the mean, which the step about the fullest expert is about.
    #[test]
    fn experts_of_the_example_have_unequal_loads() {
        let copies = routed(2);
        let load = |expert: usize| copies.iter().filter(|copy| copy.expert == expert).count();
        let most = (0..EXPERTS).map(load).max().unwrap();
        assert!(most > 2 && most < TOKENS, "{most}");
    }
}
