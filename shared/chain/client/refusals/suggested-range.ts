/** Blocks, inclusive. */
export interface BlockRange {
  from: number;
  to: number;
}

/** What an endpoint takes instead of a range that it refused. */
export interface SuggestedRange {
  /** The last block to ask for next. Before the end of the refused range, unless that was one block. */
  to: number;
  /**
   * What the endpoint bounds: `blocks` for any request, so that the bound is worth remembering; `logs` (or bytes, or
   * time) only for what was asked about these blocks.
   */
  of: 'blocks' | 'logs';
  /** Whether the endpoint names it. Else it is half of what was asked. */
  isNamed: boolean;
  /** How many logs the endpoint returns at most, where its text says so. */
  logsMax: number | undefined;
}

const NUMBER = String.raw`(\d[\d,]*(?:\s?[km]\b)?)`;
const anyOf = (...patterns: readonly string[]): readonly RegExp[] => patterns.map((text) => new RegExp(text, 'i'));

/** How many blocks the endpoint takes: `#` stands for the number. */
const BLOCKS_MAX = anyOf(
  ...[
    String.raw`up to an? #[ -]blocks? range`,
    String.raw`max(?:imum)? (?:allowed )?(?:blocks? |log )?(?:range|blocks)\W*(?:of |is )?#`,
    String.raw`blocks? range (?:is )?(?:greater|larger|bigger|more) than #`,
    String.raw`blocks? range exceeds #`,
    String.raw`range \d+ (?:exceeds|is bigger than) (?:the )?(?:range )?limit (?:of )?#`,
    String.raw`limited to (?:an? )?(?:\d+ ?- ?)?#[ -]?(?:blocks? range|blocks?|range)`,
    String.raw`blocks? distance:? #`,
    String.raw`too many blocks.{0,80}maximum is set to #`,
    String.raw`blocks? range, the limit is #`,
    String.raw`maximum allowed (?:number of requested blocks )?is #`,
    String.raw`(?:at most|max is|must not exceed) # ?blocks?`,
    String.raw`query must be smaller than size #`,
    String.raw`ranges over # blocks`,
    String.raw`range allowed for your plan \(\d+ > #\)`,
    String.raw`blocks \([^)]{0,60}\), but only # are allowed`,
    String.raw`block range exceeds server limit, narrow your filter: #`,
    String.raw`range: \d+, max: #`,
    String.raw`range is too wide \(maximum #\)`,
  ].map((pattern) => pattern.replace('#', NUMBER)),
);

/** How many logs it returns. */
const LOGS_MAX = anyOf(
  ...[
    String.raw`more than # (?:results|logs|events)`,
    String.raw`cap of # logs`,
    String.raw`max results #`,
    String.raw`matched by query exceeds limit of #`,
    String.raw`max logs per response is #`,
    String.raw`too many logs, narrow your filter: #`,
  ].map((pattern) => pattern.replace('#', NUMBER)),
);

/** Two blocks between which it has an answer: `[0x1, 0x2]`, `range 1-2`, `{"from": "0x1", …, "to": "0x2"}`. */
const BETWEEN = anyOf(
  String.raw`range[^[]{0,40}\[(0x[\da-f]+), ?(0x[\da-f]+)\]`,
  String.raw`retry with the range (\d+) ?- ?(\d+)`,
  String.raw`"from": ?"(0x[\da-f]+)".{0,40}"to": ?"(0x[\da-f]+)"`,
);

/** It refuses for how many logs, how many bytes or how long: other blocks, or another filter, may be answered. */
const OF_LOGS =
  /more than [\w, ]{1,30}(results|logs|events)|too many (logs|results|events)|max(imum)? (results|logs)|logs matched|response (size|is too|too)|result.?set|length limit|time(d )?.?out|deadline exceeded|payload too large/i;
const OF_BLOCKS =
  /(?<!invalid )blocks?.{0,2}range|range (is )?too|too (wide|many blocks)|range exceeds|exceeds? (the |max(imum)? )?range|limit exceeded|timestamps that exceed/i;
/** Whatever number of blocks such a text names, it is not a bound. */
const ANY_BLOCKS = /any block range/i;

/**
 * Reads from a refusal of logs which range would be answered: the one that it names, else as many blocks as it says that
 * the endpoint takes. `undefined` if it says neither.
 */
export const namedRange = (text: string, asked: BlockRange): SuggestedRange | undefined => {
  const to = between(text, asked);
  const blocksMax = ANY_BLOCKS.test(text) ? undefined : smallest(text, BLOCKS_MAX);
  const isBounded = blocksMax !== undefined && blocksMax < blocksOf(asked);
  if (to !== undefined)
    return { to, of: isBounded ? 'blocks' : 'logs', isNamed: true, logsMax: smallest(text, LOGS_MAX) };
  return isBounded ? { to: asked.from + blocksMax - 1, of: 'blocks', isNamed: true, logsMax: undefined } : undefined;
};

/** Returns the first half of what was asked, if a refusal is about the range. */
export const halfRange = (text: string, asked: BlockRange): SuggestedRange | undefined => {
  if (OF_LOGS.test(text)) return { ...firstHalf(asked, 'logs'), logsMax: smallest(text, LOGS_MAX) };
  const isOfBlocks = OF_BLOCKS.test(text) || smallest(text, BLOCKS_MAX) !== undefined;
  return isOfBlocks ? firstHalf(asked, 'blocks') : undefined;
};

export const firstHalf = (asked: BlockRange, of: SuggestedRange['of']): SuggestedRange => ({
  to: asked.from + Math.max(1, Math.floor(blocksOf(asked) / 2)) - 1,
  of,
  isNamed: false,
  logsMax: undefined,
});

export const blocksOf = ({ from, to }: BlockRange): number => to - from + 1;

/** Returns the end of a range that begins where the refused one does. Some nodes name the refused one itself. */
const between = (text: string, asked: BlockRange): number | undefined => {
  for (const pattern of BETWEEN) {
    const [, from, to] = pattern.exec(text) ?? [];
    if (from !== undefined && Number(from) === asked.from && Number(to) >= asked.from && Number(to) < asked.to) {
      return Number(to);
    }
  }
  return undefined;
};

const smallest = (text: string, patterns: readonly RegExp[]): number | undefined => {
  const found = patterns.map((pattern) => numberOf(pattern.exec(text)?.[1])).filter((one) => one > 0);
  return found.length > 0 ? Math.min(...found) : undefined;
};

const THOUSANDS: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 };
/** `10,000`, `2K` */
const numberOf = (text = ''): number =>
  Number(text.replaceAll(/[^\d]/g, '')) * (THOUSANDS[text.slice(-1).toLowerCase()] ?? 1);
