import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import type {
  CreationOptions,
  RegisteredCredential,
  RequestOptions,
  SignedCredential,
} from '../../../schemas/http/account/passkey-routes.ts';
import { someRandomBytes } from '../../../shared/primitives/random-bytes.ts';

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;
export const FLAGS = { present: USER_PRESENT, verified: USER_PRESENT | USER_VERIFIED, absent: 0 };

type Cbor = number | string | Uint8Array | ReadonlyMap<number | string, Cbor>;

/** Writes what an authenticator needs of CBOR (RFC 8949): integers, bytes, text and maps. */
export const cbor = (value: Cbor): Buffer => {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  const members = Array.from(value, ([key, member]) => Buffer.concat([cbor(key), cbor(member)]));
  return Buffer.concat([head(5, value.size), ...members]);
};

const head = (major: number, length: number): Buffer => {
  if (length < 24) return Buffer.from([(major << 5) | length]);
  if (length < 256) return Buffer.from([(major << 5) | 24, length]);
  return Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
};

const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest();
const base64url = (data: string | Uint8Array): string => Buffer.from(data).toString('base64url');

/** What a browser or an authenticator does otherwise than it should. */
interface Changes {
  origin?: string;
  challenge?: string;
  rpId?: string;
  type?: string;
  flags?: number;
  counter?: number;
  userHandle?: string | null;
  /** Signs with it instead. */
  key?: KeyObject;
  /** Of the attestation. */
  format?: string;
  statement?: ReadonlyMap<string, Cbor>;
}

/** A browser with an authenticator that holds one passkey. */
export class SoftwareAuthenticator {
  readonly credentialId = base64url(someRandomBytes(16));
  userHandle = '';
  counter = 0;
  private readonly keys: { privateKey: KeyObject; cose: Buffer };

  constructor(
    private readonly origin: string,
    algorithm: 'ES256' | 'RS256' = 'ES256',
  ) {
    this.keys = algorithm === 'ES256' ? ellipticKeys() : rsaKeys();
  }

  create({ challenge, rp, user }: CreationOptions, changes: Changes = {}): RegisteredCredential {
    this.userHandle = user.id;
    const id = Buffer.from(this.credentialId, 'base64url');
    const credential = Buffer.concat([
      Buffer.alloc(16),
      Buffer.from([id.length >> 8, id.length & 255]),
      id,
      this.keys.cose,
    ]);
    const flags = (changes.flags ?? FLAGS.verified) | HAS_CREDENTIAL;
    const authData = Buffer.concat([this.authenticatorData(rp.id, { ...changes, flags }), credential]);
    const { format = 'none', statement = new Map<string, Cbor>() } = changes;
    const attestation = new Map<string, Cbor>([
      ['fmt', format],
      ['attStmt', statement],
      ['authData', authData],
    ]);
    const clientDataJSON = this.clientData('webauthn.create', challenge, changes);
    const response = { clientDataJSON, attestationObject: base64url(cbor(attestation)), transports: ['internal'] };
    return { id: this.credentialId, rawId: this.credentialId, type: 'public-key', response };
  }

  get({ challenge, rpId }: RequestOptions, changes: Changes = {}): SignedCredential {
    const authenticatorData = this.authenticatorData(rpId, changes);
    const clientDataJSON = this.clientData('webauthn.get', challenge, changes);
    const signed = Buffer.concat([authenticatorData, sha256(Buffer.from(clientDataJSON, 'base64url'))]);
    const signature = base64url(sign('sha256', signed, changes.key ?? this.keys.privateKey));
    const { userHandle = this.userHandle } = changes;
    const response = { clientDataJSON, authenticatorData: base64url(authenticatorData), signature, userHandle };
    return { id: this.credentialId, rawId: this.credentialId, type: 'public-key', response };
  }

  private authenticatorData(rpId: string, { rpId: otherRpId, flags = FLAGS.verified, counter }: Changes): Buffer {
    const counted = Buffer.alloc(4);
    counted.writeUInt32BE(counter ?? this.counter);
    return Buffer.concat([sha256(otherRpId ?? rpId), Buffer.from([flags]), counted]);
  }

  private clientData(type: string, challenge: string, changes: Changes): string {
    const { origin } = this;
    const made = { type, challenge, origin, crossOrigin: false };
    const { type: otherType = type, challenge: otherChallenge = challenge, origin: otherOrigin = origin } = changes;
    return base64url(JSON.stringify({ ...made, type: otherType, challenge: otherChallenge, origin: otherOrigin }));
  }
}

const ellipticKeys = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const cose = new Map<number, Cbor>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, Buffer.from(x, 'base64url')],
    [-3, Buffer.from(y, 'base64url')],
  ]);
  return { privateKey, cose: cbor(cose) };
};

const rsaKeys = () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
  const cose = new Map<number, Cbor>([
    [1, 3],
    [3, -257],
    [-1, Buffer.from(n, 'base64url')],
    [-2, Buffer.from(e, 'base64url')],
  ]);
  return { privateKey, cose: cbor(cose) };
};
