import type { ModuleMetadata } from '@nestjs/common';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import type { VaultKeys } from '../../../shared/key-vault/vault-keys.ts';
import { EraseUserHandler } from './erase-user.handler.ts';
import { EraseUserHttp } from './erase-user.http.ts';
import { Erasures } from './erasures.ts';
import { SmartAccountUse } from './smart-account-use.ts';

/** The erasure of users. */
export const openErasure = (transactor: Transactor, keys: VaultKeys, accountUse: SmartAccountUse) => {
  const erasures = new Erasures(transactor, keys);
  return {
    erasures,
    controllers: [EraseUserHttp],
    providers: [
      { provide: Erasures, useValue: erasures },
      { provide: SmartAccountUse, useValue: accountUse },
      EraseUserHandler,
    ],
  } satisfies ModuleMetadata & Record<string, unknown>;
};
