import type { WorkerFoundation, WithKeyVault } from '../../shared/host/foundation.ts';
import type { RunningPart } from '../../shared/host/running-part.ts';
import { startLoops } from '../../shared/host/start-loops.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import { readModels } from '../../shared/read-models/catalogue.ts';
import { ScratchStore } from '../../shared/read-store/embedded/scratch-store.sqlite.ts';
import { logLoop } from './build-transparency-log/log-loop.ts';
import { formerCollectionsLoop } from './former-collections/former-collections-loop.ts';
import { sealLoop } from './seal-histories/seal-loop.ts';
import { projectionLoop } from './run-projection/projection-loop.ts';
import { verifyLoop } from './run-projection/verification/verify-loop.ts';

/** Starts the projector. Ready once every read model has caught up, or while another process keeps it up to date. */
export const startProjector = (foundation: WorkerFoundation & WithKeyVault): RunningPart => {
  const personalData = personalDataOf(foundation);
  const projections = readModels.map((model) => ({
    checkpoint: model.name,
    loop: projectionLoop(model, { ...foundation, personalData }),
  }));
  const former = formerCollectionsLoop(foundation);
  const loops = [...projections, logLoop(foundation), former];
  const { VERIFY_SECONDS } = foundation.settings;
  const makeScratch = (names: readonly string[]) => new ScratchStore(names);
  const verifying =
    VERIFY_SECONDS === 'off' ? [] : [verifyLoop({ ...foundation, makeScratch }, VERIFY_SECONDS * 1_000)];
  const others = [sealLoop(foundation), ...verifying.map(({ loop }) => loop)];
  const measured = [former.measured, ...verifying.flatMap((one) => one.measured)];
  return { ...startLoops(foundation, loops, others), measured };
};
