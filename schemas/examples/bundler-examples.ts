const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const executor = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const bundle = { chainId: 2484, executor, nonce: 4, transactionHash: hash('c') };
const signedBundle = {
  ...bundle,
  operations: ['tx_0123456789abcdefghjkmnpqrs'],
  gasLimit: '400000',
  maxFeePerGas: '2000000000',
  maxPriorityFeePerGas: '1000000000',
};

const entity = { chainId: 2484, address: '0x52908400098527886E0F7030069857D2E4169EE7' };

/** One valid event of each type that tells what becomes of bundles, and who may still have operations in them. */
export const bundlerExamples = {
  BundleSigned: signedBundle,
  BundleReplaced: signedBundle,
  BundleMined: { ...bundle, blockNumber: 7, blockHash: hash('b'), success: true },
  BundleReorged: { ...bundle, blockHash: hash('b') },
  BundleFinalized: bundle,
  BundleWithdrawn: { ...bundle, reason: 'insufficient gas for floor data gas cost' },
  BundleLost: { chainId: 2484, executor, nonce: 3, nextNonce: 4 },
  OperationAdmitted: { ...entity, transactionId: 'tx_01', ended: [] },
  OperationTakenBack: { ...entity, transactionId: 'tx_01' },
  EntityBanned: { ...entity, transactionHash: bundle.transactionHash },
  EntityReputationSet: { ...entity, opsSeen: 20, opsIncluded: 13 },
  EntityForgotten: entity,
  BundlingModeSet: { chainId: 2484, mode: 'manual' as const },
  BundleRequested: { chainId: 2484, requestId: 'br_01' },
  BundleRequestAnswered: { chainId: 2484, requestId: 'br_01', transactionHash: bundle.transactionHash },
  BundlerReplaced: { chainId: 2484, executor, epoch: 2 },
};
