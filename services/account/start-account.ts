import { join } from 'node:path';
import { createService, type RunningService, type ServiceOptions } from '../../shared/nest/create-service.ts';
import type { Foundation } from '../../shared/nest/foundation.module.ts';
import { accountModule } from './account.module.ts';
import { ownIssuer } from './edge/session-tokens.jose.ts';
import { openSigningKeys } from './edge/signing-keys.file.ts';

/** Starts the account service. `url` is the tokens' `iss`: `ACCOUNT_URL`, or where it listens. */
export const startAccount = async (
  foundation: Foundation,
  options: Pick<ServiceOptions, 'readiness' | 'configure'> = {},
): Promise<RunningService> => {
  const { DATA_DIR, HOST, ACCOUNT_PORT, ACCOUNT_URL } = foundation.settings;
  const keys = openSigningKeys(join(DATA_DIR, 'keys'), foundation.masterKey);
  let url = ACCOUNT_URL;
  const issuer = ownIssuer(keys, () => {
    if (url === undefined) throw new Error('the address is known once the service listens');
    return url;
  });
  const service = await createService({
    ...options,
    module: accountModule(keys),
    foundation,
    issuer,
    host: HOST,
    port: ACCOUNT_PORT,
  });
  url ??= service.url;
  return { ...service, url };
};
