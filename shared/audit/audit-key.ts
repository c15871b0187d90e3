import { createPrivateKey, createPublicKey, createSign, type KeyObject } from 'node:crypto';
import type { PublicKeys } from '../../schemas/http/account/account-routes.ts';
import type { VaultKeys } from '../key-vault/vault-keys.ts';
import { coordinates, keyId } from '../keys/public-jwk.ts';

/** Bytes that base64 writes as four characters, so that pieces of a multiple of it can be written one after the other. */
const BASE64_GROUP = 3;

/** Signs the last lines of exports, and nothing else. Stays in the JWKS for ever. */
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

  /** Yields a compact JWS over a text in pieces, because that of a long history has some hundred megabytes. */
  async *sign(text: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
    const signing = createSign('sha256');
    const signed = (piece: string) => {
      signing.update(piece);
      return piece;
    };
    const header = { alg: 'ES256', kid: this.published.kid };
    yield signed(`${Buffer.from(JSON.stringify(header)).toString('base64url')}.`);
    let rest = Buffer.alloc(0);
    for await (const piece of text) {
      const bytes = Buffer.concat([rest, Buffer.from(piece)]);
      const whole = bytes.length - (bytes.length % BASE64_GROUP);
      yield signed(bytes.subarray(0, whole).toString('base64url'));
      rest = bytes.subarray(whole);
    }
    yield signed(rest.toString('base64url'));
    // JWS writes both numbers of an ECDSA signature one after the other (RFC 7518, 3.4).
    yield `.${signing.sign({ key: this.privateKey, dsaEncoding: 'ieee-p1363' }, 'base64url')}`;
  }
}
