import { hash } from 'node:crypto';
import { Refusal } from '../../errors/refusal.ts';
import { elementaryType, isArrayLength, isIdentifier, NESTING_MAX, typeName, type AbiType } from './abi-type.ts';

export interface EventSignature {
  name: string;
  /** The name is empty for a parameter without one, and for such a member of a tuple. */
  parameters: readonly { name: string; type: AbiType; indexed: boolean }[];
  /** Whether the signature says `anonymous`. A signature without the word may still mean an anonymous event. */
  anonymous: boolean;
}

/** A longer signature does not fit into the path of a URL. Signatures in use have a few hundred characters. */
const CHARACTERS_MAX = 2_048;
/** Fragments of an ABI also contain names, and are not in a path. */
const FRAGMENT_CHARACTERS_MAX = 16_384;
/** A log has four topics. A named event may index one parameter less, because its hash is the first topic. */
const INDEXED_MAX = 4;

/**
 * Returns `Transfer(address indexed,address indexed,uint256)`: without names, with `indexed`, no space after commas.
 */
export const canonicalSignature = ({ name, parameters }: Omit<EventSignature, 'anonymous'>): string =>
  `${name}(${parameters.map(({ type, indexed }) => `${typeName(type)}${indexed ? ' indexed' : ''}`).join(',')})`;

/** Returns `Transfer(address,address,uint256)`, whose hash is the first topic. */
export const bareSignature = ({ name, parameters }: Omit<EventSignature, 'anonymous'>): string =>
  `${name}(${parameters.map(({ type }) => typeName(type)).join(',')})`;

/** Returns the first topic of the logs of an event that is not anonymous. @param bare see `bareSignature` */
export const topicOfSignature = (bare: string): string => `0x${hash('keccak-256', bare, 'hex')}`;

/**
 * Parses a signature with or without the word `event`, names, `tuple`, spaces and `;`.
 * @throws Refusal event_signature_invalid
 */
export const parseEventSignature = (text: string): EventSignature => parseUpTo(CHARACTERS_MAX, text);

/** Parses the same as a human-readable fragment of an ABI. @throws Refusal event_signature_invalid */
export const parseEventFragment = (text: string): EventSignature => parseUpTo(FRAGMENT_CHARACTERS_MAX, text);

const parseUpTo = (charactersMax: number, text: string): EventSignature => {
  if (text.length > charactersMax) throw invalid(`it is longer than ${String(charactersMax)} characters`);
  return new Parser(tokensOf(text)).event();
};

const tokensOf = (text: string): string[] => {
  const tokens = text.match(/[\w$]+|[^\s]/g) ?? [];
  const unexpected = tokens.find((token) => !/[\w$()[\],;]/.test(token));
  if (unexpected !== undefined) throw invalid(`it may not contain ${JSON.stringify(unexpected)}`);
  return tokens;
};

const invalid = (why: string): Refusal =>
  new Refusal('event_signature_invalid', `the event signature cannot be read: ${why}`);

/** A recursive-descent parser. Each step consumes a token, and nesting is bounded. */
class Parser {
  private at = 0;

  constructor(private readonly tokens: readonly string[]) {}

  event(): EventSignature {
    if (this.tokens[1] !== '(') this.skip('event');
    const name = this.next('the name of the event');
    if (!isIdentifier(name)) throw invalid(`${name} is not a name`);
    this.expect('(');
    const parameters = this.list(() => this.parameter());
    const anonymous = this.skip('anonymous');
    this.skip(';');
    const next = this.tokens[this.at];
    if (next !== undefined) throw invalid(`${next} may not follow its end`);
    if (parameters.filter(({ indexed }) => indexed).length > INDEXED_MAX)
      throw invalid('too many parameters are indexed');
    return { name, parameters, anonymous };
  }

  private parameter(): { name: string; type: AbiType; indexed: boolean } {
    const type = this.type(0);
    const indexed = this.skip('indexed');
    return { name: this.name(), type, indexed };
  }

  private type(depth: number): AbiType {
    let type = this.innerType(depth);
    for (let nested = depth; this.skip('['); nested += 1) {
      if (nested >= NESTING_MAX) throw invalid('it is nested too deeply');
      const length = this.next('a length or ]');
      if (length !== ']') this.expect(']');
      if (length !== ']' && !isArrayLength(length)) throw invalid(`${length} is not the length of an array`);
      type = { kind: 'array', of: type, length: length === ']' ? null : Number(length) };
    }
    return type;
  }

  private innerType(depth: number): AbiType {
    const name = this.next('a type');
    if (name === '(' || (name === 'tuple' && this.skip('('))) return this.tuple(depth + 1);
    const type = elementaryType(name);
    if (!type) throw invalid(`${name} is not a type of the ABI (contracts are address, enums uint8, structs tuples)`);
    if (type.kind === 'address') this.skip('payable');
    return type;
  }

  private tuple(depth: number): AbiType {
    if (depth > NESTING_MAX) throw invalid('it is nested too deeply');
    const components = this.list(() => {
      const type = this.type(depth);
      return { name: this.name(), type };
    });
    if (components.length === 0) throw invalid('a tuple is never empty');
    return { kind: 'tuple', components };
  }

  /** Reads the items after an opening bracket, and the closing one. */
  private list<Item>(item: () => Item): Item[] {
    const items: Item[] = [];
    if (this.skip(')')) return items;
    do items.push(item());
    while (this.skip(','));
    this.expect(')');
    return items;
  }

  /** Reads the name of a parameter, if it has one. */
  private name(): string {
    const token = this.tokens[this.at];
    if (token === undefined || token === 'indexed' || !isIdentifier(token)) return '';
    this.at += 1;
    return token;
  }

  private skip(token: string): boolean {
    if (this.tokens[this.at] !== token) return false;
    this.at += 1;
    return true;
  }

  private expect(token: string): void {
    const found = this.next(token);
    if (found !== token) throw invalid(`${token} is expected, but ${found} was found`);
  }

  private next(expected: string): string {
    const token = this.tokens[this.at];
    if (token === undefined) throw invalid(`it ends where ${expected} is expected`);
    this.at += 1;
    return token;
  }
}
