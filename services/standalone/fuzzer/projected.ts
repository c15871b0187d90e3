import { readModels } from '../../../shared/read-models/catalogue.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import type { TestFoundation } from '../../../shared/testing/test-foundation.ts';
import { startProjector } from '../../projector/projector.ts';

/** Returns when everything that was stored so far can be read. */
export const caughtUp = async ({ eventStore, readStore }: TestFoundation): Promise<void> => {
  const head = await eventStore.head();
  const positions = () => Promise.all(readModels.map(({ name }) => readStore.position(name)));
  const areReached = async () => (await positions()).every((position) => position >= head);
  await eventually(areReached, 60_000, 'the read models must catch up');
};

/** A projector beside a service. */
export const projected = (foundation: TestFoundation) => ({
  projector: startProjector(foundation),
  caughtUp: () => caughtUp(foundation),
});
