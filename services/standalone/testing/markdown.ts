import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

export interface CodeBlock {
  /** `docs/recipes.md:12`, the line of its first fence. */
  place: string;
  language: string;
  /** The file that the comment `<!-- from … -->` above it names. */
  source: string | undefined;
  text: string;
}

/** A piece of a document outside its code blocks. */
export interface Piece {
  place: string;
  text: string;
}

export interface MarkdownDocument {
  name: string;
  lines: number;
  blocks: readonly CodeBlock[];
  /** The code within lines, without its backticks. */
  spans: readonly Piece[];
  /** The targets of links. */
  links: readonly Piece[];
  /** The cells of each row of a table. */
  rows: readonly (readonly string[])[];
}

const FENCE = /^ *```(\w*)$/;
const SOURCE = /^ *<!-- from (\S+) -->$/;

/** Reads a document of the checkout. Fences may be indented, as in lists. */
export const readMarkdown = (root: string, name: string): MarkdownDocument => {
  const lines = readFileSync(join(root, name), 'utf8').trimEnd().split('\n');
  const blocks: CodeBlock[] = [];
  const outside: Piece[] = [];
  let open: { language: string; at: number; source: string | undefined } | undefined;
  let source: string | undefined;
  for (const [at, line] of lines.entries()) {
    const fence = FENCE.exec(line);
    if (fence && open) {
      blocks.push({ ...open, place: `${name}:${String(open.at)}`, text: lines.slice(open.at, at).join('\n') });
      open = undefined;
      source = undefined;
    } else if (fence) {
      open = { language: fence[1] ?? '', at: at + 1, source };
    } else if (!open) {
      source = SOURCE.exec(line)?.[1] ?? (line.trim() === '' ? source : undefined);
      outside.push({ place: `${name}:${String(at + 1)}`, text: line });
    }
  }
  return {
    name,
    lines: lines.length,
    blocks,
    spans: found(outside, /`([^`]+)`/g),
    links: found(outside, /\]\(([^)\s]+)\)/g),
    rows: outside.filter(({ text }) => text.startsWith('|')).map(({ text }) => text.split('|').slice(1, -1)),
  };
};

const found = (pieces: readonly Piece[], pattern: RegExp): Piece[] =>
  pieces.flatMap(({ place, text }) => Array.from(text.matchAll(pattern), ([, part = '']) => ({ place, text: part })));

/** Whether a link leads to a file of the checkout and, if it names one, to a heading in it. */
export const resolves = (root: string, from: string, target: string): boolean => {
  if (/^https?:/.test(target)) return true;
  const [path = '', anchor] = target.split('#');
  const file = join(root, path === '' ? from : normalize(join(dirname(from), path)));
  if (!existsSync(file) || anchor === undefined) return existsSync(file);
  const headings = readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm);
  return Array.from(headings, ([, heading = '']) => anchorOf(heading)).includes(anchor);
};

/** As GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
