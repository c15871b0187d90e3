import type { ModuleMetadata } from '@nestjs/common';
import { Apps } from '../../../shared/auth/apps.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import type { Foundation } from '../../../shared/host/foundation.ts';
import { isNative } from '../../../shared/keys/signatures/recover-signer.ts';
import { SignedAppCallers } from './authenticate-app/signed-app-callers.ts';

/** Apps, and how their requests prove from which app they come. */
export const openApps = (transactor: Transactor, { settings, logger }: Pick<Foundation, 'settings' | 'logger'>) => {
  if (!isNative)
    logger.warn('the package secp256k1 has no binary for this machine: signatures are checked by ethers, slowly');
  const apps = new Apps(transactor);
  return {
    apps,
    appCallers: new SignedAppCallers(transactor, apps, settings),
    controllers: [],
    providers: [{ provide: Apps, useValue: apps }],
  } satisfies ModuleMetadata & Record<string, unknown>;
};
