import type { AbiParameter, EventFragment } from '../../../schemas/events/watch-events.ts';
import { isIdentifier, NESTING_MAX, parameterType, typeName, type AbiType } from '../../../shared/chain/abi-type.ts';
import { bareSignature, canonicalSignature, type EventSignature } from '../../../shared/chain/event-signature.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';

const INDEXED_MAX = { named: 3, anonymous: 4 };
/** How many events of an ABI a message shows. */
const SIGNATURES_SHOWN_MAX = 8;
/** More than any ABI has of one name, and so few that a hostile one is refused soon. A tuple's components count too. */
const OVERLOADS_MAX = 64;
const PARAMETERS_MAX = 2_048;

/**
 * Finds the one event of an ABI (a JSON array, or its text) that has this signature, `indexed` included. A signature that
 * marks nothing as indexed also finds the only event with its types.
 * @throws Refusal event_abi_mismatch, which says how they differ
 */
export const findEvent = (eventAbi: unknown, signature: EventSignature): EventFragment => {
  const named = eventsOf(eventAbi).filter(({ name }) => name === signature.name);
  if (named.length === 0) throw mismatch(`the ABI has no event ${signature.name}`);
  if (named.length > OVERLOADS_MAX) {
    throw mismatch(`the ABI has more than ${String(OVERLOADS_MAX)} events ${signature.name}`);
  }
  const budget = { parametersLeft: PARAMETERS_MAX };
  const fragments = named.map((event) => readFragment(event, budget));
  const ofTypes = fragments.filter((fragment) => bareSignature(signatureOf(fragment)) === bareSignature(signature));
  if (ofTypes.length === 0) throw mismatch(`the ABI has other types: ${shown(fragments)}`);
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

/** Returns the signature of a fragment. */
export const signatureOf = ({ name, inputs, anonymous }: EventFragment): EventSignature => ({
  name,
  anonymous,
  parameters: inputs.map((input) => ({ type: typeOf(input), indexed: input.indexed ?? false })),
});

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

const eventsOf = (eventAbi: unknown): (UncheckedObject & { name: string })[] => {
  const abi = typeof eventAbi === 'string' ? readJson(eventAbi) : eventAbi;
  if (!Array.isArray(abi)) throw mismatch('eventAbi is not a JSON array');
  return abi.filter(
    (item): item is UncheckedObject & { name: string } =>
      isObject(item) && item['type'] === 'event' && typeof item['name'] === 'string',
  );
};

interface ReadingBudget {
  parametersLeft: number;
}

const readFragment = (
  { name, inputs, anonymous }: UncheckedObject & { name: string },
  budget: ReadingBudget,
): EventFragment => {
  if (!Array.isArray(inputs)) throw mismatch(`the event ${name} of the ABI has no inputs`);
  const wrong = mismatch(`the event ${name} of the ABI has a parameter that cannot be read`);
  return {
    name,
    anonymous: anonymous === true,
    inputs: inputs.map((input: unknown) => {
      const parameter = readParameter(input, { wrong, depth: 0, budget });
      if (!parameterType(parameter)) throw wrong;
      return { ...parameter, indexed: isObject(input) && input['indexed'] === true };
    }),
  };
};

/** Reads the names and types of a parameter. Whether its tuples are types is to be checked. */
const readParameter = (
  input: unknown,
  { wrong, depth, budget }: { wrong: Refusal; depth: number; budget: ReadingBudget },
): AbiParameter => {
  budget.parametersLeft -= 1;
  if (budget.parametersLeft < 0) throw mismatch(`its parameters are more than ${String(PARAMETERS_MAX)}`);
  if (!isObject(input) || depth > NESTING_MAX) throw wrong;
  const { name = '', type, components } = input;
  if (typeof type !== 'string' || typeof name !== 'string' || !(name === '' || isIdentifier(name))) throw wrong;
  if (type.startsWith('tuple') && Array.isArray(components)) {
    const inner = { wrong, depth: depth + 1, budget };
    return { name, type, components: components.map((component: unknown) => readParameter(component, inner)) };
  }
  const read = parameterType({ name, type });
  if (!read) throw wrong;
  return { name, type: typeName(read) };
};
