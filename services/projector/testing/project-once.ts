import type { ReadModel } from '../../../shared/read-models/read-model.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { BatchProjector } from '../run-projection/project-batch.ts';

/** Folds and stores a single batch. */
export const projectBatch = async (
  model: ReadModel,
  store: Pick<ReadStore, 'getMany' | 'apply'>,
  batch: Parameters<BatchProjector['project']>[0],
): Promise<void> => {
  const projector = new BatchProjector(model, store);
  await projector.project(batch);
  await projector.flush();
};
