import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { userEvents } from '../../../schemas/events/account/user-events.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { readModel } from '../../read-models/read-model.ts';
import { checkedDigests, readModelDigests } from './read-model-digests.ts';

const committed = z
  .record(z.string(), z.string())
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, '../../documents/read-model-digests.json'), 'utf8')));

const model = (document: z.ZodType<JsonObject>, made: () => JsonObject) =>
  readModel({
    name: 'logins-v1',
    collections: { login: { name: 'logins-v1', document, indexes: [] } },
    events: { UserLoggedIn: userEvents.UserLoggedIn },
    touches: ({ data }) => ({ login: data.userId }),
    evolve: () => ({ login: made() }),
  });

describe('the digests of read models', () => {
  it('are those that were committed: a model that changed has a new name', () => {
    expect(checkedDigests(committed)).toEqual(committed);
  });

  it('change with the schema of a document and with what is folded, and not with how', () => {
    const schema = z.object({ a: z.number() });
    const digests = [
      model(schema, () => ({ a: 1 })),
      model(schema, () => ({ a: 3 - 2 })),
      model(z.object({ a: z.number(), b: z.string().nullable() }), () => ({ a: 1 })),
      model(schema, () => ({ a: 2 })),
    ].map((one) => readModelDigests([one])['logins-v1']);
    expect(digests[1]).toBe(digests[0]);
    expect(new Set(digests).size).toBe(3);
  });

  it('are written for new names only, and the others stay', () => {
    expect(checkedDigests({ 'a-v1': '1', 'gone-v1': '0' }, { 'a-v1': '1', 'b-v1': '2' })).toEqual({
      ...{ 'a-v1': '1', 'b-v1': '2' },
    });
    expect(() => checkedDigests({ 'a-v1': '1' }, { 'a-v1': '2' })).toThrow(/a-v1 changed, and its name did not/);
  });
});
