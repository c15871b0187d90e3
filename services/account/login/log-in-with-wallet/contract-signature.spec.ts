import { expect, it } from '@jest/globals';
import { encodeDeployData, erc6492SignatureValidatorAbi, erc6492SignatureValidatorByteCode } from 'viem';
import { contractSignatureCode } from './contract-signature.ts';
import { signatureValidator } from './signature-validator.ts';

const signer = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const ZERO = `0x${'0'.repeat(64)}` as const;

it('the validator is the one that viem has', () => {
  expect(signatureValidator).toBe(erc6492SignatureValidatorByteCode);
});

it.each([65, 96, 97, 5_000])(
  'the validator is given signer, hash and a signature of %i bytes as viem gives them',
  (bytes) => {
    const signature = `0x${'ab'.repeat(bytes - 32)}${'6492'.repeat(16)}` as const;
    const { code } = contractSignatureCode({ signer, signature, hashes: [`0x${'1'.repeat(64)}`] });
    const expected = encodeDeployData({
      abi: erc6492SignatureValidatorAbi,
      bytecode: erc6492SignatureValidatorByteCode,
      args: [signer, ZERO, signature],
    });
    expect(code.slice(-expected.length + 2)).toBe(expected.slice(2));
  },
);
