/** The functions of libsecp256k1 that the package's binaries for Node offer. */
interface Library {
  /** Returns 65 bytes: 4, x and y. @throws Error if no key can have made the signature */
  ecdsaRecover: (signature: Uint8Array, recoveryId: number, digest: Uint8Array, compressed: false) => Uint8Array;
  /** Signs with low s and the nonce of RFC 6979. @throws Error if this is not a private key */
  ecdsaSign: (digest: Uint8Array, privateKey: Uint8Array) => { signature: Uint8Array; recid: number };
  /** Returns 65 bytes: 4, x and y. @throws Error if this is not a private key */
  publicKeyCreate: (privateKey: Uint8Array, compressed: false) => Uint8Array;
}

const load = async (): Promise<Library | undefined> => {
  try {
    // The package's main file would take a library in JavaScript that is slower than ethers.
    // @ts-expect-error: the package has no types
    return ((await import('secp256k1/bindings.js')) as { default: Library }).default;
  } catch {
    return undefined;
  }
};

/** `undefined` if the package has no binary for this machine. */
export const libsecp256k1 = await load();
