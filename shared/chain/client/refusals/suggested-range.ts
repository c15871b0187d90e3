/** Blocks, inclusive. */
export interface BlockRange {
  from: number;
  to: number;
}

/** The range that an endpoint accepts instead of the refused one. */
export interface SuggestedRange {
  /** The last block to request next. Before the end of the refused range, unless that was one block. */
  to: number;
  /**
   * What the endpoint limits: `blocks` for any request, so that the limit is worth remembering; `logs` (or bytes, or
   * time) only for this filter and these blocks.
   */
  of: 'blocks' | 'logs';
  /** Whether the endpoint names the range. Otherwise it is half of the refused one. */
  isNamed: boolean;
  /** Maximum number of logs per answer, if the text says so. */
  logsMax: number | undefined;
}

const NUMBER = String.raw`(\d[\d,]*(?:\s?[km]\b)?)`;
const anyOf = (...patterns: readonly string[]): readonly RegExp[] => patterns.map((text) => new RegExp(text, 'i'));

/** Texts with the endpoint's maximum number of blocks; `#` stands for the number. */
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

/** Texts with its maximum number of logs. */
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

/** Texts with an acceptable range: `[0x1, 0x2]`, `range 1-2`, `{"from": "0x1", …, "to": "0x2"}`. */
const BETWEEN = anyOf(
  String.raw`range[^[]{0,40}\[(0x[\da-f]+), ?(0x[\da-f]+)\]`,
  String.raw`retry with the range (\d+) ?- ?(\d+)`,
  String.raw`"from": ?"(0x[\da-f]+)".{0,40}"to": ?"(0x[\da-f]+)"`,
);

/** Texts about the number of logs, bytes or time: other blocks, or another filter, may be accepted. */
const OF_LOGS =
  /more than [\w, ]{1,30}(results|logs|events)|too many (logs|results|events)|max(imum)? (results|logs)|logs matched|response (size|is too|too)|result.?set|length limit|time(d )?.?out|deadline exceeded|payload too large/i;
const OF_BLOCKS =
  /(?<!invalid )blocks?.{0,2}range|range (is )?too|too (wide|many blocks)|range exceeds|exceeds? (the |max(imum)? )?range|limit exceeded|timestamps that exceed/i;
/** A number of blocks in such a text is not a limit. */
const ANY_BLOCKS = /any block range/i;

/**
 * Reads the acceptable range from a refusal of logs: the range that it names, or else its maximum number of blocks.
 * `undefined` if it says neither.
 */
export const namedRange = (text: string, asked: BlockRange): SuggestedRange | undefined => {
  const to = between(text, asked);
  const blocksMax = ANY_BLOCKS.test(text) ? undefined : smallest(text, BLOCKS_MAX);
  const isBounded = blocksMax !== undefined && blocksMax < blocksOf(asked);
  if (to !== undefined)
    return { to, of: isBounded ? 'blocks' : 'logs', isNamed: true, logsMax: smallest(text, LOGS_MAX) };
  return isBounded ? { to: asked.from + blocksMax - 1, of: 'blocks', isNamed: true, logsMax: undefined } : undefined;
};

/** Returns the first half of the requested range, if the refusal is about the range. */
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

/**
 * Returns the end of a suggested range that begins where the refused one does. Some nodes name the refused range
 * itself.
 */
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
