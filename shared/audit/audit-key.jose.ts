import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { CompactSign } from 'jose';
import type { PublicKeys } from '../../schemas/http/account-routes.ts';
import type { VaultKeys } from '../key-vault/vault-keys.ts';
import { coordinates, keyId } from '../keys/public-jwk.ts';

/** Signs the last lines of exports. It signs nothing else, and stays in the JWKS for ever. */
export class AuditKey {
  private constructor(
    private readonly privateKey: KeyObject,
    readonly published: PublicKeys['keys'][number],
  ) {}

  /** Opens the key in the vault. */
  static async open(keys: Pick<VaultKeys, 'auditKey'>): Promise<AuditKey> {
    const privateKey = createPrivateKey({ key: await keys.auditKey(), format: 'der', type: 'pkcs8' });
    const publicKey = createPublicKey(privateKey);
    const kid = `audit-${keyId(publicKey)}`;
    return new AuditKey(privateKey, { ...coordinates(publicKey), kid, alg: 'ES256', use: 'sig' });
  }

  /** Returns a compact JWS over the text. */
  sign(text: string): Promise<string> {
    return new CompactSign(Buffer.from(text))
      .setProtectedHeader({ alg: 'ES256', kid: this.published.kid })
      .sign(this.privateKey);
  }
}
