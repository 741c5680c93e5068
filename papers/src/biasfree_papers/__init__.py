"""Papers on bias-free networks, reproduced: one folder per figure, with its runs, claims and picture."""

__version__ = "0.3.0"

#: The modules of the figures by section, in the order of the report: figures, appendices, statements and
#: extensions of the paper; neighboring papers. The last part of a module is the name of its figure.
FIGURES = {
    "The paper": (
        "biasfree_papers.fig1",
        "biasfree_papers.fig3",
        "biasfree_papers.fig4",
        "biasfree_papers.fig5",
        "biasfree_papers.fig6",
        "biasfree_papers.fig8",
        "biasfree_papers.appC4",
        "biasfree_papers.appC5",
        "biasfree_papers.appC6",
        "biasfree_papers.bias",
        "biasfree_papers.early",
        "biasfree_papers.limit",
        "biasfree_papers.conjecture",
        "biasfree_papers.augment",
        "biasfree_papers.realdata",
        "biasfree_papers.where",
        "biasfree_papers.optimizers",
    ),
    "Its neighbors": (
        "biasfree_papers.frei2022",
        "biasfree_papers.kou2023",
        "biasfree_papers.boursier2022",
        "biasfree_papers.lyu2021",
        "biasfree_papers.sarussi2021",
        "biasfree_papers.town2026",
        "biasfree_papers.lai2026",
        "biasfree_papers.nacson2023",
        "biasfree_papers.basri2019",
    ),
}
