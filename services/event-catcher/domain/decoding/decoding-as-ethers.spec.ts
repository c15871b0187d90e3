import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import {
  AbiCoder,
  hexlify,
  Indexed,
  Interface,
  keccak256,
  toUtf8Bytes,
  type EventFragment,
  type ParamType,
  type Result,
} from 'ethers';
import fc from 'fast-check';
import type { AbiParameter } from '../../../../schemas/events/event-catcher/watch-events.ts';
import type { JsonObject, JsonValue } from '../../../../schemas/json.ts';
import { checksumAddress } from '../../../../shared/chain/identifiers/address.ts';
import { compileDecoder, type LogContent } from './log-decoder.ts';
import { casesOf } from '../../../../shared/testing/cases.ts';

/** How many logs of each event are decoded. */
const LOGS = 10;
const EVENTS = casesOf(300);
const coder = AbiCoder.defaultAbiCoder();

describe("the decoder of an event, compared with ethers'", () => {
  it('returns the same arguments, for every type and value', () => {
    fc.assert(
      fc.property(eventWithLogs, ({ event, logs }) => {
        for (const values of logs) {
          const log = encodeLog(event, values);
          requireEqual(event.decode(log), decodeWithEthers(event, log));
        }
      }),
      { numRuns: EVENTS },
    );
  });

  it('returns the same arguments of a damaged log, and as they came those, or the log, whose encoding is not valid', () => {
    const outcomes = { decoded: 0, raw: 0, misfits: 0 };
    fc.assert(
      fc.property(eventWithLogs, damages, ({ event, logs }, some) => {
        for (const [at, values] of logs.entries()) {
          const log = damaged(encodeLog(event, values), some[at] ?? []);
          const decoded = event.decode(log);
          if ('raw' in decoded) {
            outcomes.raw += 1;
            expect(decoded).toEqual({ raw: log, error: expect.stringMatching(/./) });
            expect(isValid(event, log)).toBe(false);
          } else {
            outcomes.decoded += 1;
            outcomes.misfits += requireSame(event, log, decoded);
          }
        }
      }),
      { numRuns: EVENTS },
    );
    expect(Math.min(outcomes.decoded, outcomes.raw)).toBeGreaterThan((EVENTS * LOGS) / 10);
    expect(outcomes.misfits).toBeGreaterThan(EVENTS / 10);
  });
});

/** Formats a difference only if there is one, because that takes longer than decoding. */
const requireEqual = (decoded: JsonObject, expected: JsonObject | undefined): void => {
  if (!isDeepStrictEqual(decoded, expected)) expect(decoded).toEqual(expected);
};

/**
 * Compares what was decoded with what ethers decodes, except for values that do not fit their types: ethers throws for
 * those, or returns a value with another encoding.
 * @returns the number of such values
 */
const requireSame = ({ theirs, fragment }: TestedEvent, { topics, data }: LogContent, decoded: JsonObject): number => {
  const values = theirs.decodeEventLog(fragment, data, topics);
  return fragment.inputs.reduce((misfits, input, at) => {
    return misfits + requireSameValue(input, decoded[input.name] ?? null, () => values[at] as unknown);
  }, 0);
};

const requireSameValue = (type: ParamType, ours: JsonValue, theirs: () => unknown): number => {
  if (isMisfit(ours)) {
    expect(canonicalOrNot(type, theirs)).not.toBe(ours.raw);
    return 1;
  }
  const { arrayChildren, components } = type;
  if (Array.isArray(ours) && arrayChildren) {
    const values = theirs() as Result;
    expect(values).toHaveLength(ours.length);
    return ours.reduce<number>(
      (sum, one, at) => sum + requireSameValue(arrayChildren, one, () => values[at] as unknown),
      0,
    );
  }
  if (components && !type.indexed) {
    const values = theirs() as Result;
    return components.reduce((sum, component, at) => {
      const member = (ours as JsonObject)[component.name] ?? null;
      return sum + requireSameValue(component, member, () => values[at] as unknown);
    }, 0);
  }
  const expected = asJson(type, theirs());
  if (!isDeepStrictEqual(ours, expected)) expect(ours).toEqual(expected);
  return 0;
};

const isMisfit = (value: JsonValue): value is { raw: string; error: string } =>
  typeof value === 'object' && value !== null && 'raw' in value && 'error' in value;

/** Returns the bytes of a value as an encoder writes them; `undefined` if ethers cannot read it. */
const canonicalOrNot = (type: ParamType, value: () => unknown): string | undefined => {
  try {
    const encoded = coder.encode([type], [value()]);
    return type.type === 'string' ? hexlify(toUtf8Bytes(String(value()))) : encoded;
  } catch {
    return undefined;
  }
};

interface TestedEvent {
  decode: ReturnType<typeof compileDecoder>;
  theirs: Interface;
  fragment: EventFragment;
}
/** A type, and its values. */
interface Typed {
  parameter: AbiParameter;
  values: fc.Arbitrary<unknown>;
}
const elementary = (type: string, values: fc.Arbitrary<unknown>): Typed => ({ parameter: { name: '', type }, values });
const hexBytes = (minLength: number, maxLength = minLength) =>
  fc.uint8Array({ minLength, maxLength }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);
const sizes = fc.integer({ min: 1, max: 32 });
const elementaryTypes: fc.Arbitrary<Typed> = fc.oneof(
  sizes.map((size) => elementary(`uint${String(8 * size)}`, fc.bigInt({ min: 0n, max: 2n ** BigInt(8 * size) - 1n }))),
  sizes.map((size) => {
    const beyond = 2n ** BigInt(8 * size - 1);
    return elementary(`int${String(8 * size)}`, fc.bigInt({ min: -beyond, max: beyond - 1n }));
  }),
  sizes.map((size) => elementary(`bytes${String(size)}`, hexBytes(size))),
  fc.constantFrom(
    elementary('address', hexBytes(20)),
    elementary('bool', fc.boolean()),
    elementary('string', fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant('\uFEFFbyte order mark\u0000'))),
    elementary('bytes', hexBytes(0, 70)),
  ),
);
const arrayOf = ({ parameter, values }: Typed, length: number | null): Typed => ({
  parameter: { ...parameter, type: `${parameter.type}[${String(length ?? '')}]` },
  values: fc.array(values, length === null ? { maxLength: 3 } : { minLength: length, maxLength: length }),
});
const tupleOf = (parts: readonly Typed[]): Typed => ({
  parameter: {
    name: '',
    type: 'tuple',
    components: parts.map(({ parameter }, at) => ({ ...parameter, name: `c${String(at)}` })),
  },
  values: fc.tuple(...parts.map(({ values }) => values)),
});
const { types } = fc.letrec<{ types: Typed }>((tie) => ({
  types: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    elementaryTypes,
    fc.tuple(tie('types'), fc.constantFrom(null, 1, 2, 3)).map(([type, length]) => arrayOf(type, length)),
    fc.array(tie('types'), { minLength: 1, maxLength: 3 }).map(tupleOf),
  ),
}));

/** An event, some of whose parameters are indexed, and the values of some logs of it. */
const eventWithLogs = fc
  .tuple(fc.array(fc.tuple(types, fc.boolean()), { minLength: 1, maxLength: 6 }), fc.boolean())
  .chain(([some, anonymous]) => {
    let topicsLeft = anonymous ? 4 : 3;
    const parameters = some.map(([{ parameter }, wanted], at): AbiParameter => {
      const indexed = wanted && topicsLeft > 0;
      if (indexed) topicsLeft -= 1;
      return { ...parameter, name: `p${String(at)}`, indexed };
    });
    const fragment = { name: 'Some', anonymous, inputs: parameters };
    const theirs = new Interface([{ type: 'event', ...fragment }]);
    const [theirFragment] = theirs.fragments as [EventFragment];
    const event: TestedEvent = { decode: compileDecoder(fragment, checksumAddress), theirs, fragment: theirFragment };
    return fc.record({
      event: fc.constant(event),
      logs: fc.array(fc.tuple(...some.map(([{ values }]) => values)), { minLength: LOGS, maxLength: LOGS }),
    });
  });

const encodeLog = ({ fragment }: TestedEvent, values: readonly unknown[]): LogContent => {
  const { anonymous, topicHash, inputs } = fragment;
  const topics = inputs.flatMap((input, at) => {
    const value = values[at];
    if (!input.indexed) return [];
    if (Indexed.isIndexed(value)) return [value.hash ?? ''];
    const encoded = coder.encode([input], [value]);
    return [/^(tuple|string|bytes$)|\]$/.test(input.type) ? keccak256(encoded) : encoded];
  });
  const isInData = (_: unknown, at: number) => !inputs[at]?.indexed;
  const data = coder.encode(inputs.filter(isInData), values.filter(isInData));
  return { topics: anonymous ? topics : [topicHash, ...topics], data };
};

/** Returns `undefined` if ethers cannot decode the log. */
const decodeWithEthers = ({ theirs, fragment }: TestedEvent, { topics, data }: LogContent): JsonObject | undefined => {
  try {
    const decoded = theirs.decodeEventLog(fragment, data, topics);
    return Object.fromEntries(fragment.inputs.map((input, at) => [input.name, asJson(input, decoded[at])]));
  } catch {
    return undefined;
  }
};

/** Whether ethers decodes a log, and encodes the values to the same bytes, perhaps with more data after them. */
const isValid = (event: TestedEvent, log: LogContent): boolean => {
  try {
    const again = encodeLog(event, event.theirs.decodeEventLog(event.fragment, log.data, log.topics).toArray());
    return log.data.startsWith(again.data) && log.topics.join() === again.topics.join();
  } catch {
    return false;
  }
};

/** Converts a value that ethers decoded into the JSON of a record. */
const asJson = ({ arrayChildren, components, indexed }: ParamType, value: unknown): JsonValue => {
  if (typeof value === 'object' && value !== null && 'hash' in value && indexed) return { hash: value.hash as string };
  if (arrayChildren) return Array.from(value as Result, (one) => asJson(arrayChildren, one));
  if (components) {
    const members = components.map((component, at): [string, JsonValue] => [
      component.name,
      asJson(component, (value as Result)[at]),
    ]);
    return Object.fromEntries(members);
  }
  return typeof value === 'bigint' ? value.toString() : (value as JsonValue);
};

type Damage = (log: LogContent) => LogContent;
const word = (digits: string): string => digits.padStart(64, '0');
/** Replaces digits of the data, beginning at a share of its length. */
const put = ({ topics, data }: LogContent, at: number, digits: string): LogContent => {
  const from = 2 + Math.min(at, Math.max(0, data.length - 2 - digits.length));
  return { topics, data: `${data.slice(0, from)}${digits}${data.slice(from + digits.length)}`.slice(0, data.length) };
};
const place = fc.nat(2_000);
const damage = fc.oneof<fc.Arbitrary<Damage>[]>(
  place.map((bytes) => ({ topics, data }) => ({ topics, data: data.slice(0, 2 + 2 * bytes) })),
  fc.tuple(place, hexBytes(1)).map(
    ([at, byte]) =>
      (log) =>
        put(log, (2 * at) % log.data.length, byte.slice(2)),
  ),
  fc
    .tuple(
      place,
      fc.constantFrom('0', '1', '2', '20', '21', '40', '60', 'ff', 'ffffffff', 'f'.repeat(14), 'f'.repeat(64)),
    )
    .map(
      ([at, digits]) =>
        (log) =>
          put(log, (64 * at) % log.data.length, word(digits)),
    ),
  hexBytes(1, 40).map((bytes) => ({ topics, data }) => ({ topics, data: data + bytes.slice(2) })),
  fc.tuple(fc.integer({ min: 1, max: 3 }), hexBytes(32)).map(([at, topic]) => ({ topics, data }) => ({
    topics: topics.map((one, index) => (index === at ? topic : one)),
    data,
  })),
  fc.nat(4).map((count) => ({ topics, data }) => ({ topics: topics.slice(0, count), data })),
);
const damages = fc.array(fc.array(damage, { minLength: 1, maxLength: 3 }), { minLength: LOGS, maxLength: LOGS });
const damaged = (log: LogContent, some: readonly Damage[]): LogContent => some.reduce((now, one) => one(now), log);
