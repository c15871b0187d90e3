import { expect, it } from '@jest/globals';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import { LazyStoredEvent } from '../event-store/stored-event.ts';
import { sha256 } from '../primitives/ids.ts';
import { canonicalJson } from '../primitives/text/canonical-json.ts';
import { NO_HASH, toHistoryLine } from '../read-models/account/history-line.ts';
import { someMetadata } from '../testing/event-builder.ts';
import { entryTextOf } from '../transparency-log/leaf-entry.ts';

it('a leaf, and the line of a history, are of the data as it was stored, however a later version reads it', () => {
  const { isThirdParty: _, ...data } = eventExamples.AppRegistered;
  const [id, text] = ['00000000-0000-4000-8000-000000000000', JSON.stringify(data)];
  const event = new LazyStoredEvent(1, 'app-1', 0, id, 'AppRegistered', 1, 0, text, someMetadata);
  expect(event.data).toEqual({ ...data, isThirdParty: false });
  expect(JSON.parse(entryTextOf(event))).toMatchObject({ digest: sha256(canonicalJson(data)), schemaVersion: 1 });
  expect(toHistoryLine(event, NO_HASH)).toMatchObject({ data, digest: sha256(canonicalJson(data)) });
});
