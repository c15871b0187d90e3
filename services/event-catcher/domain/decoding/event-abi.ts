import type { AbiParameter, EventFragment } from '../../../../schemas/events/event-catcher/watch-events.ts';
import {
  isIdentifier,
  NESTING_MAX,
  parameterType,
  typeName,
  type AbiType,
} from '../../../../shared/chain/identifiers/abi-type.ts';
import {
  bareSignature,
  canonicalSignature,
  parseEventFragment,
  topicOfSignature,
  type EventSignature,
} from '../../../../shared/chain/identifiers/event-signature.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';

const INDEXED_MAX = { named: 3, anonymous: 4 };
/** How many events of an ABI an error message lists. */
const SIGNATURES_SHOWN_MAX = 8;
/**
 * More parameters than any real event has, and few enough to refuse a hostile ABI soon. Components of tuples count too.
 */
const OVERLOADS_MAX = 64;
const PARAMETERS_MAX = 2_048;

/**
 * Finds the one event of an ABI that has this signature, `indexed` included. A signature that marks nothing as indexed also
 * finds the only event with its types. Events of the same name that cannot be read are passed over.
 * @param eventAbi a JSON array, a compiler's artifact that has one as `abi`, or the text of either; items of the array may be
 * human-readable fragments
 * @throws Refusal event_abi_mismatch, which says how they differ
 */
export const findEvent = (eventAbi: unknown, signature: EventSignature): EventFragment => {
  const { fragments, unreadable } = fragmentsNamed(signature.name, itemsOf(eventAbi));
  const ofTypes = fragments.filter((fragment) => bareSignature(signatureOf(fragment)) === bareSignature(signature));
  if (ofTypes.length === 0)
    throw mismatch(`the ABI has other types: ${shown(fragments)}${unreadable ? `; another ${unreadable}` : ''}`);
  const wanted = canonicalSignature(signature);
  const exact = ofTypes.filter((fragment) => canonicalSignature(signatureOf(fragment)) === wanted);
  const marksNone = !signature.parameters.some(({ indexed }) => indexed);
  const same = exact.length === 0 && marksNone && ofTypes.length === 1 ? ofTypes : exact;
  if (same.length === 0) throw mismatch(`the ABI has other parameters indexed: ${shown(ofTypes)}`);
  const fitting = signature.anonymous ? same.filter(({ anonymous }) => anonymous) : same;
  if (fitting.length > 1) throw mismatch(`the ABI has this event ${String(fitting.length)} times`);
  const [fragment] = fitting;
  if (!fragment) throw mismatch(`the event of the ABI is not anonymous: ${shown(same)}`);
  const indexedMax = fragment.anonymous ? INDEXED_MAX.anonymous : INDEXED_MAX.named;
  if (fragment.inputs.filter(({ indexed }) => indexed).length > indexedMax) {
    throw mismatch(`a log has room for ${String(indexedMax)} indexed parameters`);
  }
  return fragment;
};

interface Named {
  /** At least one. */
  fragments: EventFragment[];
  /** What is wrong with an event of this name that cannot be read. */
  unreadable: string | undefined;
}

/** Finds the events of this name. @throws Refusal event_abi_mismatch if none can be read */
const fragmentsNamed = (name: string, items: readonly unknown[]): Named => {
  const named = items.filter((item): item is string | NamedEvent => eventNameOf(item) === name);
  if (named.length === 0) throw mismatch(`the ABI has no event ${name}`);
  if (named.length > OVERLOADS_MAX) throw mismatch(`the ABI has more than ${String(OVERLOADS_MAX)} events ${name}`);
  const budget = { parametersLeft: PARAMETERS_MAX };
  const fragments: EventFragment[] = [];
  let unreadable: string | undefined;
  for (const item of named) {
    try {
      fragments.push(typeof item === 'string' ? fragmentOfText(item, budget) : fragmentOfItem(item, budget));
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      unreadable = `event ${name} of the ABI ${error.message}`;
    }
  }
  if (unreadable !== undefined && fragments.length === 0) throw mismatch(`the ${unreadable}`);
  return { fragments, unreadable };
};

/** Returns the signature of a fragment. */
export const signatureOf = ({ name, inputs, anonymous }: EventFragment): EventSignature => ({
  name,
  anonymous,
  parameters: inputs.map((input) => ({ name: input.name, type: typeOf(input), indexed: input.indexed ?? false })),
});

/** Returns the first topic of an event's logs, keccak-256 of its signature; `null` for an anonymous event. */
export const topic0Of = (fragment: EventFragment): string | null =>
  fragment.anonymous ? null : topicOfSignature(bareSignature(signatureOf(fragment)));

/** Returns the type of a parameter of a fragment that `findEvent` returned. */
export const typeOf = (parameter: AbiParameter): AbiType => {
  const type = parameterType(parameter);
  if (!type) throw new Error(`${parameter.type} is not a type of a stored fragment`);
  return type;
};

/** Types, names and `indexed`: everything in which two fragments can differ. Ids of watches depend on this text. */
export const fragmentText = ({ name, inputs, anonymous }: EventFragment): string =>
  `${name}(${inputs.map(parameterText).join(', ')})${anonymous ? ' anonymous' : ''}`;

const parameterText = ({ name, type, indexed, components }: AbiParameter): string => {
  const inner = components && `tuple(${components.map(parameterText).join(', ')})${type.slice('tuple'.length)}`;
  return [inner ?? type, indexed ? 'indexed' : '', name].filter(Boolean).join(' ');
};

const mismatch = (how: string): Refusal => new Refusal('event_abi_mismatch', how);

const shown = (fragments: readonly EventFragment[]): string => {
  const texts = fragments.slice(0, SIGNATURES_SHOWN_MAX).map((fragment) => canonicalSignature(signatureOf(fragment)));
  return texts.join(', ');
};

type UncheckedObject = { readonly [member: string]: unknown };
const isObject = (value: unknown): value is UncheckedObject => typeof value === 'object' && value !== null;

const readJson = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new Refusal('event_abi_mismatch', 'eventAbi is not valid JSON', { cause });
  }
};

const itemsOf = (eventAbi: unknown): readonly unknown[] => {
  const given = typeof eventAbi === 'string' ? readJson(eventAbi) : eventAbi;
  const inArtifact = isObject(given) && !Array.isArray(given) ? given['abi'] : given;
  // Some compilers write the ABI into their artifact as a string.
  const abi = isObject(given) && typeof inArtifact === 'string' ? readJson(inArtifact) : inArtifact;
  if (Array.isArray(abi)) return abi as readonly unknown[];
  throw mismatch('eventAbi is not a JSON array, nor an artifact that has one as abi, nor the text of either');
};

type NamedEvent = UncheckedObject & { name: string };

/** Returns the name of an ABI item if it is an event. */
const eventNameOf = (item: unknown): string | undefined => {
  if (typeof item === 'string') return /^\s*event\s+([\w$]+)/.exec(item)?.[1];
  return isObject(item) && item['type'] === 'event' && typeof item['name'] === 'string' ? item['name'] : undefined;
};

interface ReadingBudget {
  parametersLeft: number;
}

/**
 * Thrown for an event that no contract can have, or that exceeds the limits. Other events of its name may still be
 * read.
 */
class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

const fragmentOfItem = ({ name, inputs, anonymous }: NamedEvent, budget: ReadingBudget): EventFragment => {
  if (!Array.isArray(inputs)) throw new Unreadable('has no inputs');
  return {
    name,
    anonymous: anonymous === true,
    inputs: inputs.map((input: unknown) => {
      const parameter = readParameter(input, 0, budget);
      if (!parameterType(parameter)) throw new Unreadable(UNREADABLE_PARAMETER);
      return { ...parameter, indexed: isObject(input) && input['indexed'] === true };
    }),
  };
};

const UNREADABLE_PARAMETER = 'has a parameter that cannot be read';

/** Reads the names and types of a parameter. It does not check whether tuples have valid types. */
const readParameter = (input: unknown, depth: number, budget: ReadingBudget): AbiParameter => {
  spend(budget);
  if (!isObject(input) || depth > NESTING_MAX) throw new Unreadable(UNREADABLE_PARAMETER);
  const { name = '', type, components } = input;
  const isNamed = typeof name === 'string' && (name === '' || isIdentifier(name));
  if (typeof type !== 'string' || !isNamed) throw new Unreadable(UNREADABLE_PARAMETER);
  if (type.startsWith('tuple') && Array.isArray(components)) {
    return { name, type, components: components.map((inner: unknown) => readParameter(inner, depth + 1, budget)) };
  }
  const read = parameterType({ name, type });
  if (!read) throw new Unreadable(UNREADABLE_PARAMETER);
  return { name, type: typeName(read) };
};

/** Reads a human-readable fragment: `event Transfer(address indexed from, address indexed to, uint256 value)`. */
const fragmentOfText = (text: string, budget: ReadingBudget): EventFragment => {
  const { name, parameters, anonymous } = parsedFragment(text);
  return {
    name,
    anonymous,
    inputs: parameters.map(({ indexed, ...parameter }) => ({ ...toParameter(parameter, budget), indexed })),
  };
};

const parsedFragment = (text: string): EventSignature => {
  try {
    return parseEventFragment(text);
  } catch (error) {
    if (error instanceof Refusal) throw new Unreadable(`cannot be read: ${error.detail}`);
    throw error;
  }
};

/** Writes a parsed parameter as a JSON ABI does. */
const toParameter = ({ name, type }: { name: string; type: AbiType }, budget: ReadingBudget): AbiParameter => {
  spend(budget);
  let element = type;
  let brackets = '';
  for (; element.kind === 'array'; element = element.of) brackets = `[${String(element.length ?? '')}]${brackets}`;
  if (element.kind !== 'tuple') return { name, type: typeName(type) };
  return {
    name,
    type: `tuple${brackets}`,
    components: element.components.map((component) => toParameter(component, budget)),
  };
};

const spend = (budget: ReadingBudget): void => {
  budget.parametersLeft -= 1;
  if (budget.parametersLeft < 0) throw mismatch(`its parameters are more than ${String(PARAMETERS_MAX)}`);
};
