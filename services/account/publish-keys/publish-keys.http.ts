import { Controller, Inject } from '@nestjs/common';
import { accountRoutes, type PublicKeys } from '../../../schemas/http/account-routes.ts';
import { Implements } from '../../../shared/edge/implements.ts';
import { SIGNING_KEYS, type SigningKeys } from '../edge/signing-keys.ts';

@Controller()
export class PublishKeysHttp {
  constructor(@Inject(SIGNING_KEYS) private readonly keys: SigningKeys) {}

  @Implements(accountRoutes.publicKeys)
  published(): Promise<PublicKeys> {
    return Promise.resolve(this.keys.published);
  }
}
