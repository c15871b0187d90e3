import { Controller } from '@nestjs/common';
import { accountRoutes, type PublicKeys } from '../../../schemas/http/account-routes.ts';
import { Implements } from '../../../shared/edge/implements.ts';
import { SigningKeys } from '../edge/signing-keys.ts';

@Controller()
export class PublishKeysHttp {
  constructor(private readonly keys: SigningKeys) {}

  @Implements(accountRoutes.publicKeys)
  published(): Promise<PublicKeys> {
    return this.keys.published();
  }
}
