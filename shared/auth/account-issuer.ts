import { accountRoutes } from '../../schemas/http/account/account-routes.ts';
import { serviceUrl } from '../config/service-url.ts';
import type { Settings } from '../config/settings.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { remoteIssuer, type TokenIssuer } from './access-tokens.jose.ts';

type AccountSettings = Pick<Settings, 'ACCOUNT_URL' | 'ACCOUNT_JWKS_URL' | 'ACCOUNT_PORT' | 'HOST'>;

/** Returns the account service as another process addresses it, from the settings of both. @throws CannotStart */
export const accountIssuer = ({ ACCOUNT_URL, ACCOUNT_JWKS_URL, ACCOUNT_PORT, HOST }: AccountSettings): TokenIssuer => {
  if (ACCOUNT_URL === undefined && ACCOUNT_PORT === 0) {
    throw new CannotStart('ACCOUNT_URL must be set, because ACCOUNT_PORT is 0, any free port');
  }
  const issuer = ACCOUNT_URL ?? serviceUrl(HOST, ACCOUNT_PORT);
  return remoteIssuer(issuer, ACCOUNT_JWKS_URL ?? issuer + accountRoutes.publicKeys.path);
};
