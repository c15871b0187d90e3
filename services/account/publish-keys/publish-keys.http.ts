import { Controller } from '@nestjs/common';
import { accountRoutes, type PublicKeys } from '../../../schemas/http/account-routes.ts';
import { AuditKey } from '../../../shared/audit/audit-key.jose.ts';
import { Implements } from '../../../shared/edge/implements.ts';
import { SigningKeys } from '../edge/signing-keys.ts';

@Controller()
export class PublishKeysHttp {
  constructor(
    private readonly keys: SigningKeys,
    private readonly auditKey: AuditKey,
  ) {}

  @Implements(accountRoutes.publicKeys)
  async published(): Promise<PublicKeys> {
    const { keys } = await this.keys.published();
    return { keys: [...keys, this.auditKey.published] };
  }
}
