import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server';
import { decodeAttestationObject, isoBase64URL } from '@simplewebauthn/server/helpers';
import type { RegisteredCredential, SignedCredential } from '../../../../schemas/http/account/passkey-routes.ts';
import { ALGORITHMS, passkeyInvalid, userHandleOf, type Passkey } from './passkey.ts';

/** What a response must be made for. */
export interface Expected {
  /** In base64url, as the options had it. */
  challenge: string;
  origin: string;
  rpId: string;
}

type NewPasskey = Pick<Passkey, 'credentialId' | 'publicKey' | 'counter' | 'transports'>;

/** Returns the passkey that a browser made. @throws Refusal passkey_invalid */
export const readRegistration = async (
  { response, ...credential }: RegisteredCredential,
  expected: Expected,
): Promise<NewPasskey> =>
  valid(async () => {
    refuseCertificates(response.attestationObject);
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      ...expectedOf(expected),
      response: { ...credential, response, clientExtensionResults: {} },
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) throw new Error('the attestation is not valid');
    const { id: credentialId, publicKey, counter } = registrationInfo.credential;
    const { transports = [] } = response;
    return { credentialId, publicKey: isoBase64URL.fromBuffer(publicKey), counter, transports };
  });

/** Returns the counter that a passkey's authenticator gave. @throws Refusal passkey_invalid unless the passkey signed */
export const readLogin = async (
  { response: { userHandle, ...response }, ...credential }: SignedCredential,
  { credentialId, publicKey, userId }: Passkey,
  expected: Expected,
): Promise<number> =>
  valid(async () => {
    // The options name no passkey, so the authenticator must say whose passkey the person chose.
    if (userHandle !== userHandleOf(userId)) throw new Error('the user handle is not that of its user');
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      ...expectedOf(expected),
      response: { ...credential, response, clientExtensionResults: {} },
      // `usePasskey` compares the counter, in the append that stores it.
      credential: { id: credentialId, publicKey: isoBase64URL.toBuffer(publicKey), counter: 0 },
    });
    if (!verified) throw new Error('the signature is not by its key');
    return authenticationInfo.newCounter;
  });

const expectedOf = ({ challenge, origin, rpId }: Expected) => ({
  expectedChallenge: challenge,
  expectedOrigin: origin,
  expectedRPID: rpId,
  requireUserVerification: false,
});

/** The verifier fetches revocation lists from addresses in certificates. The options ask for no attestation, so none is read. */
const refuseCertificates = (attestationObject: string): void => {
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject));
  const format = attestation.get('fmt');
  const isSelfAttested = format === 'packed' && attestation.get('attStmt').get('x5c') === undefined;
  if (format !== 'none' && !isSelfAttested) throw new Error('an attestation was not asked for');
};

/** The verifier throws plain errors for responses that are wrong or malformed. */
const valid = async <Result>(read: () => Promise<Result>): Promise<Result> => {
  try {
    return await read();
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it cannot be read';
    throw passkeyInvalid(`it does not answer the options of this state: ${why}`, error);
  }
};
