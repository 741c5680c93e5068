// How search ranks: pages for users before pages about the project, and before whole pages of the reference.
// Sphinx's own scores, but for `score`.
var Scorer = {
  score: ([page, title, anchor, description, score, file, kind]) => {
    if (page.startsWith("project/")) return score - 12;
    if (page.startsWith("reference/") && kind !== "object") return score - 6;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
