import type { WorkerFoundation, WithKeyVault } from '../../shared/host/foundation.ts';
import type { RunningPart } from '../../shared/host/running-part.ts';
import { startLoops } from '../../shared/host/start-loops.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import { readModels } from '../../shared/read-models/catalogue.ts';
import { formerCollectionsLoop } from './former-collections/former-collections-loop.ts';
import { projectionLoop } from './run-projection/projection-loop.ts';

/** Starts the projector. Ready once every read model has caught up, or while another process keeps it so. */
export const startProjector = (foundation: WorkerFoundation & WithKeyVault): RunningPart => {
  const personalData = personalDataOf(foundation);
  const projections = readModels.map((model) => ({
    checkpoint: model.name,
    loop: projectionLoop(model, { ...foundation, personalData }),
  }));
  const former = formerCollectionsLoop(foundation);
  return { ...startLoops(foundation, [...projections, former]), measured: [former.measured] };
};
