import type { onchainRoutes } from '../http/onchain/onchain-routes.ts';
import type { OperationReceipt } from '../http/onchain/operation-receipt.ts';
import type { rpcRoutes } from '../http/onchain/rpc-routes.ts';
import { appSignatureExample } from '../http/app-signature-example.ts';
import { eventExamples } from './event-examples.ts';
import type { ExamplesOf } from './http-example.ts';

const { TxSubmitted, TxIncluded, BundleSigned, ContractRegistered } = eventExamples;
const { transactionId, appId, userOpHash, chainId, sender, entryPoint, nonce } = TxSubmitted;
const { blockHash, blockNumber, transactionHash } = TxIncluded;
const { contractAddress } = ContractRegistered;
const { apiKey } = appSignatureExample;

const [time, later] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:05.000Z'];
const word = (hex: string): string => hex.toLowerCase().padStart(64, '0');
/** `transfer(executor, 1)`. */
const transferData = `0xa9059cbb${word(BundleSigned.executor.slice(2))}${word('1')}`;
const nonceHex = '0x20000000000000000';

const receipt: OperationReceipt = {
  ...{ userOpHash, entryPoint, sender, nonce: nonceHex, paymaster: contractAddress },
  ...{ actualGasCost: '0xa3b5840f4000', actualGasUsed: '0x2bf20', success: true, logs: [] },
  receipt: {
    ...{ transactionHash, transactionIndex: '0x0', blockHash, blockNumber: '0x7', from: BundleSigned.executor },
    ...{ to: entryPoint, contractAddress: null, cumulativeGasUsed: '0x30d40', gasUsed: '0x30d40' },
    ...{ effectiveGasPrice: '0x3b9aca00', status: '0x1', type: '0x2', logsBloom: `0x${'0'.repeat(512)}`, logs: [] },
  },
};
const submitted = { id: transactionId, userOpHash, sender, chainId, entryPoint, nonce, sponsor: true };
const listed = {
  ...submitted,
  ...{ appId, to: contractAddress, value: '0', data: transferData, status: 'included' as const, createdAt: time },
  replacedBy: null,
  history: [
    { status: 'submitted' as const, time },
    { status: 'included' as const, time: later, transactionHash, blockNumber, blockHash },
  ],
};
const transactionRequest = {
  ...{ chainId, sponsor: true },
  transactionReq: { to: contractAddress, value: '0', data: transferData },
};
const sent = { ...submitted, status: 'submitted' as const, createdAt: time };

const call = { jsonrpc: '2.0' as const, id: 1, method: 'eth_chainId', params: [], chainID: chainId, apiKey };
const response = { jsonrpc: '2.0' as const, id: 1, result: '0x9b4' };

/** For the OpenAPI document of the account service. */
export const onchainExamples: ExamplesOf<typeof onchainRoutes & typeof rpcRoutes> = {
  sendTransaction: { body: transactionRequest, answer: sent },
  estimateGas: {
    body: transactionRequest,
    answer: {
      ...{ callGasLimit: '60000', verificationGasLimit: '300000', preVerificationGas: '50000' },
      ...{ paymasterVerificationGasLimit: '60000', paymasterPostOpGasLimit: '1' },
      ...{
        maxFeePerGas: '2000000000',
        maxPriorityFeePerGas: '1000000000',
        maxCost: '940002000000000',
        sponsored: true,
      },
    },
  },
  readReceipt: { answer: { userOpHash, status: 'included', confirmations: 1, receipt, replacedBy: null } },
  getTransaction: { answer: { ...listed, receipt } },
  listTransactions: { answer: { items: [listed], take: 10, next: null } },
  cancelTransaction: { answer: { ...sent, sponsor: false } },
  rpc: {
    body: call,
    answer: response,
    batch: {
      body: [call, { ...call, id: 'two', method: 'eth_getUserOperationReceipt', params: ['0x'] }],
      answer: [
        response,
        {
          jsonrpc: '2.0',
          id: 'two',
          error: { code: -32_602, message: 'params.0: is not a hash: 0x and 64 hex digits' },
        },
      ],
    },
  },
};
