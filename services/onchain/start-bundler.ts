import { Apps } from '../../shared/auth/apps.ts';
import { openChains } from '../../shared/chain/client/opened-chains.ts';
import { Transactor } from '../../shared/event-store/transactions/transact.ts';
import type { WithKeyVault, WorkerFoundation } from '../../shared/host/foundation.ts';
import { Health } from '../../shared/host/health/health.ts';
import type { RunningPart } from '../../shared/host/running-part.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import { Loops } from '../../shared/loops/loops.ts';
import { bundleLoopFor } from './bundler/begin-bundling.ts';
import { onchainParts, servedChains } from './onchain-parts.ts';

/** Starts the bundlers of all configured chains. Ready once each bundles, or another process has its lease. */
export const startBundler = (foundation: WorkerFoundation & WithKeyVault): RunningPart => {
  const { eventStore, readStore, clock, ids, settings } = foundation;
  const personalData = personalDataOf(foundation);
  const transactor = new Transactor(eventStore, clock, ids, personalData);
  const { keys } = personalData;
  const opened = openChains(settings.CHAINS);
  const options = { foundation, transactor, keys, apps: new Apps(transactor), chains: settings.CHAINS };
  const parts = { ...options, ...onchainParts(options) };
  const loops = new Loops(
    [...servedChains(opened, transactor).all.values()].map((chain) => bundleLoopFor(chain, parts)),
  );
  const health = new Health({ settings, eventStore, readStore }, { bundling: () => loops.areWorking });
  loops.start();
  return {
    health: () => health.report(),
    close: async () => {
      await loops.stop();
      for (const { client } of opened) client.close();
    },
  };
};
