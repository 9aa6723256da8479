/** Everything that decides a ranking, and nothing else. `npm run bench -- tools` measures a change. */
export const tuning = {
  /** A server cannot get more weight than this by repetition and length. */
  maxFieldLength: 2_000,
  maxFirstSentence: 250,
  maxName: 128,
  maxCount: 5,
  /** How long a build may keep other work waiting. */
  stepMs: 10,
  /** A server gets at most this share of the places while tools of other servers match. */
  maxShare: 5 / 8,
  /** How many tools are put in order at first for each place. */
  rankedAtFirst: 16,
  /** A tool of another server takes the place of a better one only with at least this part of its score. */
  minOfDisplaced: 0.6,
  unknownIdf: 4,
  relatedWeight: 0.4,
  /** The words related to one word of the query count at most this often: a server could list all of them. */
  maxRelated: 1.5,
  /** The part of the score of a word that its related words do not add again. */
  overlap: 0.6,
  /** Related words count less in queries with more terms, most of which are context. */
  shortQuery: 12,
  /** Quoted text and numbers are usually values of arguments, which no description contains. */
  valueWeight: 0.5,
  /** The first fields belong to one tool, and the others to all tools on a server. */
  ownFields: 8,
  /** The average lengths of fields begin with this many usual tools, so that one tool cannot decide them. */
  usualTools: 10,
  /** A server counts at most as this share of the tools of all others where frequencies of terms are counted. */
  shareOfOthers: 0.25,
  /** A server with so many tools counts fully. */
  fewTools: 20,
  /** No word of a query counts less, although all tools may contain the word. */
  minIdf: 1,
  /** A natural text repeats its words about this often. */
  usualRepetition: 3,
  nameCoverageWeight: 0.5,
  relatedInName: 0.7,
  gramWeight: 0.05,
  serverWeight: 0.4,
  meaningWeight: 0.6,
  /** How much of the similarity comes from the part of a query that is most similar: a query can need several tools. */
  partOfQuery: 0.75,
  /** Further parts of a query count only as parts of the whole. */
  maxParts: 16,
  /** In an index of so many tools, each one is compared with the parts of a query. */
  fullyCompared: 500,
  /** In larger ones, a tool that has this part of the best score, or is this similar to the whole query. */
  fewWords: 0.4,
  littleMeaning: 0.3,
  /** A tool that shares no word with a query must be this similar. Texts without a relation are rarely above 0.2. */
  minSimilarity: 0.25,
} as const;

/**
 * How much a field counts, how much a longer field lowers the weight of each of its terms (`b`), and how many terms such a
 * field usually has. `meaning` is the factor of its words for the meaning of a tool. All fields that describe the server
 * come last.
 */
export const fields = [
  { name: 'name', weight: 3, b: 0.4, usual: 3, meaning: 1.5 },
  { name: 'title', weight: 1, b: 0.4, usual: 1, meaning: 1 },
  { name: 'first sentence', weight: 2, b: 0.2, usual: 8, meaning: 1 },
  { name: 'description', weight: 1, b: 0.5, usual: 30, meaning: 0.5 },
  { name: 'parameter names', weight: 1, b: 0.5, usual: 6, meaning: 0.5 },
  { name: 'parameter descriptions', weight: 0.8, b: 0.6, usual: 30, meaning: 0.2 },
  { name: 'parameter values', weight: 0.8, b: 0.5, usual: 4, meaning: 0.2 },
  { name: 'annotations', weight: 0.2, b: 0.5, usual: 1, meaning: 0 },
  { name: 'server name', weight: 1, b: 0.3, usual: 2, meaning: 1 },
  { name: 'server description', weight: 0.3, b: 0.2, usual: 10, meaning: 0.3 },
  { name: 'other tools on the server', weight: 0.3, b: 0.7, usual: 40, meaning: 0 },
] as const;

/** The field of a tool in which a term was found. */
export type ToolField = (typeof fields)[number]['name'];
