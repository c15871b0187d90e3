import fc from 'fast-check';
import type { RouteContract } from '../../../schemas/http/route.ts';
import type { FuzzRequest } from './fuzz-request.ts';
import { ofOneLeaf } from './one-leaf.ts';
import { inputSchemaOf, ODD_TEXTS, oddValues, valuesOf } from './values-of-schema.ts';

/** Makes another request of one. `seen` are texts that answers of the route had, such as ids and cursors. */
export type Change = (request: FuzzRequest, seen: readonly string[]) => FuzzRequest;

/** Another change than those of what identifies the caller. */
export interface Changes {
  changes: readonly Change[];
  /** Whether the caller's headers were among them. */
  areOfCaller: boolean;
}

type Members = Record<string, unknown>;
type Schema = ReturnType<typeof inputSchemaOf>;

const membersOf = (schema: Schema | undefined): [name: string, values: fc.Arbitrary<unknown>][] =>
  Object.entries(schema?.properties ?? {}).map(([name, one]) => [name, membersValues(one as Schema)]);

/** What fits, what is one character too long or too short, and anything else. */
const membersValues = (schema: Schema): fc.Arbitrary<unknown> => {
  const { minLength, maxLength } = schema;
  const beyond = [
    ...(minLength !== undefined && minLength > 0 ? ['x'.repeat(minLength - 1)] : []),
    ...(maxLength !== undefined ? ['x'.repeat(maxLength + 1), '𝒳'.repeat(maxLength)] : []),
  ];
  return fc.oneof(
    { weight: 4, arbitrary: valuesOf(schema) },
    { weight: 3, arbitrary: oddValues },
    ...(beyond.length > 0 ? [fc.constantFrom<unknown>(...beyond)] : []),
  );
};

const STRANGE_NAMES = ['__proto__', 'constructor', 'toString', 'id', 'userId', 'isAdmin', '$set', 'a.b', 'é', ''];

/** Sets, replaces, leaves out and adds members of the body; or takes something else instead of all of it. */
const bodyChanges = (schema: Schema): fc.Arbitrary<Change> => {
  const members = membersOf(schema);
  const set = ([name, value]: [string, unknown]): Change => onMembers((body) => ({ ...body, [name]: value }));
  const ofOne = members.map(([name, values]) => values.map((value) => set([name, value])));
  const strange = fc.tuple(fc.constantFrom(...STRANGE_NAMES), oddValues);
  return fc.oneof(
    ...(ofOne.length > 0 ? [{ weight: 6, arbitrary: fc.oneof(...ofOne) }] : []),
    ...(members.length > 0 ? [fc.constantFrom(...members.map(([name]) => name)).map(leavingOut)] : []),
    // Of a literal `__proto__` becomes the prototype, and is not sent.
    strange.map(([name, value]) => onMembers((body) => Object.fromEntries([...Object.entries(body), [name, value]]))),
    near.map(
      (changed): Change =>
        (request, seen) =>
          changeTexts(request, (text) => changed(text, seen)),
    ),
    { weight: 4, arbitrary: fc.tuple(fc.nat(1_000), fc.oneof(near, oddValues)).map(ofOneLeaf) },
    oddValues.map((body): Change => (request) => ({ ...request, body })),
    valuesOf(schema).map((body): Change => (request) => ({ ...request, body })),
  );
};

const onMembers =
  (change: (body: Members) => Members): Change =>
  (request) =>
    isMembers(request.body) ? { ...request, body: change(request.body) } : request;

const leavingOut = (name: string): Change =>
  onMembers((body) => Object.fromEntries(Object.entries(body).filter(([other]) => other !== name)));

const isMembers = (body: unknown): body is Members => typeof body === 'object' && body !== null && !Array.isArray(body);

type NearText = (text: string, seen: readonly string[]) => string;

/** What looks like the text that belongs there. */
const near: fc.Arbitrary<NearText> = fc.oneof(
  fc.nat(1_000).map(
    (at): NearText =>
      (text) =>
        text.slice(0, at % (text.length + 1)) + text.slice((at % (text.length + 1)) + 1),
  ),
  fc.tuple(fc.nat(1_000), fc.constantFrom('0', 'f', 'Z', '-', '\u0000', 'é', '𝒳')).map(
    ([at, character]): NearText =>
      (text) =>
        text.slice(0, at % (text.length + 1)) + character + text.slice((at % (text.length + 1)) + 1),
  ),
  fc.constantFrom<NearText>(
    (text) => text.toUpperCase(),
    (text) => text.toLowerCase(),
    (text) => ` ${text}\n`,
    (text) => text + text,
  ),
  fc.nat(1_000).map(
    (at): NearText =>
      (text, seen) =>
        seen[at % seen.length] ?? text,
  ),
  fc.constantFrom(...ODD_TEXTS).map(
    (odd): NearText =>
      () =>
        odd,
  ),
);

/** Changes the texts of a body, however deep they are. */
const changeTexts = (request: FuzzRequest, changed: (text: string) => string): FuzzRequest => {
  const inside = (value: unknown): unknown => {
    if (typeof value === 'string') return changed(value);
    if (Array.isArray(value)) return value.map(inside);
    return isMembers(value)
      ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inside(one)]))
      : value;
  };
  return { ...request, body: inside(request.body) };
};

const HUGE = Buffer.from(`{"name":"${'x'.repeat(256 * 1_024)}"}`);

/** Bytes that are not the JSON of a body, or not as it is usually written. */
const bytesChanges: fc.Arbitrary<Change> = fc
  .oneof(
    {
      weight: 10,
      arbitrary: fc.nat(1_000).map((at) => (text: string) => Buffer.from(text.slice(0, at % (text.length + 1)))),
    },
    {
      weight: 20,
      arbitrary: fc.constantFrom(
        (text: string) => Buffer.from(`\ufeff${text}`),
        (text: string) => Buffer.concat([Buffer.from(text), Buffer.from([0xff])]),
        (text: string) => Buffer.from(text, 'utf16le'),
        (text: string) => Buffer.from(text.replaceAll('"', "'")),
        (text: string) => Buffer.from(` ${text}\n`),
        (text: string) => Buffer.from(`${text}${text}`),
        (text: string) => Buffer.from(text.replace('{', '{"__proto__":{"isAdmin":true},')),
        (text: string) => Buffer.from(text.replace(':', ':NaN,"other":')),
        (text: string) => Buffer.from(text.replace('}', ',}')),
        (text: string) => Buffer.from(text.replace('{', `{"deep":${'['.repeat(80)}${']'.repeat(80)},`)),
        () => Buffer.alloc(0),
      ),
    },
    { weight: 1, arbitrary: fc.constant(() => HUGE) },
  )
  .map((bytes): Change => (request) => ({ ...request, bytes }));

const texts = fc.oneof(fc.constantFrom(...ODD_TEXTS), fc.string({ maxLength: 40, unit: 'grapheme' }));
/** What cannot be written by percent-encoding a text. */
const RAW = [
  'raw:%',
  'raw:%zz',
  'raw:%E0%A4%A',
  'raw:%00',
  'raw:..',
  'raw:.',
  'raw:a/b',
  'raw:;a',
  `raw:${'x'.repeat(3_000)}`,
];

const pathChanges = (schema: Schema): fc.Arbitrary<Change>[] =>
  membersOf(schema).map(([name, values]) =>
    fc
      .oneof(
        values.map(
          (value): NearText =>
            () =>
              textOf(value),
        ),
        near,
        texts.map(
          (text): NearText =>
            () =>
              text,
        ),
        fc.constantFrom(...RAW).map(
          (text): NearText =>
            () =>
              text,
        ),
      )
      .map((changed): Change => (request, seen) => {
        const params = { ...request.params, [name]: changed(request.params[name] ?? '', seen) };
        return { ...request, params };
      }),
  );

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const queryChanges = (schema: Schema | undefined): fc.Arbitrary<Change> => {
  const names = [...membersOf(schema).map(([name]) => name), 'take', '__proto__', 'arg.value', 'a[]', ''];
  const values = new Map(membersOf(schema));
  const pairs = fc
    .constantFrom(...names)
    .chain((name) => fc.tuple(fc.constant(name), fc.oneof((values.get(name) ?? texts).map(textOf), texts)));
  const others = (request: FuzzRequest, name: string) => request.query.filter(([other]) => other !== name);
  return fc.oneof(
    pairs.map(([name, value]): Change => (request) => ({
      ...request,
      query: [...others(request, name), [name, value]],
    })),
    // The same parameter twice.
    pairs.map((pair): Change => (request) => ({ ...request, query: [...request.query, pair, pair] })),
    fc.constantFrom(...names).map((name): Change => (request) => ({ ...request, query: others(request, name) })),
    fc.tuple(fc.constantFrom(...names), near).map(([name, changed]): Change => (request, seen) => {
      const query = request.query.map(([other, value]): [string, string] => [
        other,
        other === name ? changed(value, seen) : value,
      ]);
      return { ...request, query };
    }),
  );
};

const ODD_HEADERS: Record<string, readonly (string | string[])[]> = {
  'x-request-id': ['mine', '', 'a b', 'x'.repeat(65), 'é', ['one', 'two']],
  'content-type': [
    ...['text/plain', 'application/json; charset=latin1', 'application/json;charset=UTF-8', 'APPLICATION/JSON', ''],
    ...['application/jsonx', 'multipart/form-data; boundary=x', 'application/json, text/plain'],
  ],
  'idempotency-key': ['', 'k', 'k', 'k2', 'with space', 'x'.repeat(128), 'x'.repeat(129), 'é', ['one', 'two']],
  'x-min-position': ['', '0', '1', 'x', '-1', 'é', '__proto__', 'x'.repeat(5_000)],
  'user-agent': ['', 'é'.repeat(300), 'x'.repeat(4_000), '<script>'],
  traceparent: ['', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-00`, `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, 'ff-x'],
  accept: ['text/html', 'application/xml;q=1', '*/*', ''],
  'accept-encoding': ['gzip, br', 'identity;q=0', '*'],
  'if-none-match': ['*', '"x"'],
  range: ['bytes=0-1', 'bytes=-'],
  'x-forwarded-for': ['127.0.0.1', "'"],
  'x-http-method-override': ['DELETE'],
  cookie: ['a=b; __proto__=c'],
};
const headers = Object.entries(ODD_HEADERS).flatMap(([name, values]) => values.map((value) => [name, value] as const));
const headerChanges: fc.Arbitrary<Change> = fc.constantFrom(...headers).map(([name, value]): Change => (request) => ({
  ...request,
  headers: { ...request.headers, [name]: value },
}));

const CALLER_HEADERS = ['authorization', 'x-api-key', 'x-signature', 'x-timestamp', 'origin'] as const;
const callerValues = fc.constantFrom<string | undefined>(
  ...[undefined, '', 'Bearer', 'Bearer ', 'Bearer x.y.z', 'Basic YTpi', `Bearer ${'x'.repeat(3_000)}`, 'bearer é'],
  ...['null', 'https://other.example', `ak_${'0'.repeat(32)}`, `0x${'0'.repeat(130)}`, `0x${'ff'.repeat(65)}`],
  ...['0', '-1', '1e3', '9'.repeat(17), String(2 ** 53)],
);

/** Changes of what identifies the caller. */
const callerChanges: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(fc.constantFrom(...CALLER_HEADERS), callerValues).map(([name, value]): Change => (request) => ({
    ...request,
    headers: { ...request.headers, [name]: value },
  })),
  fc.constant<Change>((request) => ({ ...request, caller: undefined })),
  // What belongs to the caller, with a character that does not.
  fc.tuple(fc.constantFrom(...CALLER_HEADERS), near).map(([name, changed]): Change => ({ caller, ...request }) => ({
    ...request,
    caller: (sent) => {
      const proof = { ...caller?.(sent) };
      return { ...proof, [name]: headerText(changed(proof[name] ?? '', [])) };
    },
  })),
);

/** Without what cannot stand in a header. */
const headerText = (text: string): string => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '');

/** No method by which another route would change what this one needs. */
const methodChanges = (others: readonly string[]): fc.Arbitrary<Change> =>
  fc
    .constantFrom(...['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'PROPFIND', 'TRACE'])
    .filter((method) => !others.includes(method))
    .map((method): Change => (request) => ({ ...request, method }));

/**
 * Returns the changes that make requests for a route that are nearly valid.
 * @param others methods of other routes at this path
 */
export const changesFor = (
  { params, query, body, auth }: RouteContract,
  others: readonly string[],
): fc.Arbitrary<Changes> => {
  const bodySchema = body && inputSchemaOf(body);
  const ofContent = fc.oneof(
    ...(bodySchema ? [{ weight: 8, arbitrary: bodyChanges(bodySchema) }, bytesChanges] : []),
    ...(params ? pathChanges(inputSchemaOf(params)).map((arbitrary) => ({ weight: 3, arbitrary })) : []),
    { weight: query ? 6 : 1, arbitrary: queryChanges(query && inputSchemaOf(query)) },
    { weight: 2, arbitrary: headerChanges },
    { weight: 1, arbitrary: methodChanges(others) },
  );
  const several = fc
    .array(ofContent, { minLength: 1, maxLength: 3 })
    .map((changes): Changes => ({ changes, areOfCaller: false }));
  if (auth === 'none') return several;
  const ofCaller = fc.tuple(several, callerChanges).map(([{ changes }, change]): Changes => ({
    changes: [...changes.slice(1), change],
    areOfCaller: true,
  }));
  return fc.oneof({ weight: 5, arbitrary: several }, { weight: 1, arbitrary: ofCaller });
};
