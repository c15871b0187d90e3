import { SigningKey } from 'ethers';

export const signInJavaScript = (privateKey: Uint8Array, digest: Uint8Array): Buffer => {
  const hex = `0x${Buffer.from(privateKey).toString('hex')}`;
  return Buffer.from(new SigningKey(hex).sign(digest).serialized.slice(2), 'hex');
};
