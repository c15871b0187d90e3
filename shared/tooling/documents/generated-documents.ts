import { basename } from 'node:path';
import { z } from 'zod';
import { eventCatalogue } from '../../../schemas/events/catalogue.ts';
import { dataSchemaUrl, publishedData, type EventDefinition } from '../../../schemas/events/event.ts';
import { accountExamples } from '../../../schemas/examples/account-examples.ts';
import { eventCatcherExamples } from '../../../schemas/examples/event-catcher-examples.ts';
import { gatewayNode } from '../../../schemas/http/event-catcher/gateway-routes.ts';
import {
  accountRoutes,
  accountStatus,
  challenge,
  publicKeys,
  session,
} from '../../../schemas/http/account/account-routes.ts';
import { exportedItem, exportEnd, historyItem, historyPage } from '../../../schemas/http/account/history.ts';
import {
  eventCatcherRoutes,
  eventPage,
  registeredContract,
  watchedContracts,
} from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { watchedContract, watchStatus } from '../../../schemas/http/event-catcher/watched-contract.ts';
import { eventRecord } from '../../../schemas/http/event-catcher/event-record.ts';
import {
  listedTransaction,
  transaction,
  transactionPage,
  userOpReceipt,
} from '../../../schemas/http/onchain/onchain-routes.ts';
import { rpcCall, rpcFailure, rpcResponse } from '../../../schemas/rpc/rpc-messages.ts';
import { profile, user, userEntity } from '../../../schemas/http/account/user-entity.ts';
import { streamPage, streamRoutes } from '../../../schemas/http/stream/stream-routes.ts';
import { streamExamples } from '../../../schemas/examples/stream-examples.ts';
import { asyncApiDocument } from './asyncapi.ts';
import { openApiDocument, type DescribedService } from './openapi.ts';
import { openRpcDocument } from './openrpc.ts';
import { encodingIsNoFormat } from './plain-json-schema.ts';

const account: DescribedService = {
  title: 'Annals account service',
  url: 'http://127.0.0.1:3000',
  routes: accountRoutes,
  examples: accountExamples,
  schemas: {
    Challenge: challenge,
    Session: session,
    PublicKeys: publicKeys,
    User: user,
    UserEntity: userEntity,
    Profile: profile,
    HistoryItem: historyItem,
    HistoryPage: historyPage,
    ExportedItem: exportedItem,
    ExportEnd: exportEnd,
    UserOpReceipt: userOpReceipt,
    Transaction: transaction,
    ListedTransaction: listedTransaction,
    TransactionPage: transactionPage,
    AccountStatus: accountStatus,
    RpcCall: rpcCall,
    RpcResponse: rpcResponse,
    RpcFailure: rpcFailure,
  },
};

const eventCatcher: DescribedService = {
  title: 'Annals event catcher',
  url: 'http://127.0.0.1:3001',
  routes: eventCatcherRoutes,
  examples: eventCatcherExamples,
  schemas: {
    WatchedContract: watchedContract,
    RegisteredContract: registeredContract,
    WatchedContracts: watchedContracts,
    EventRecord: eventRecord,
    EventPage: eventPage,
    WatchStatus: watchStatus,
    GatewayNode: gatewayNode,
  },
};

const stream: DescribedService = {
  title: 'Annals stream over plain HTTP',
  url: 'http://127.0.0.1:3002',
  routes: streamRoutes,
  examples: streamExamples,
  schemas: { StreamPage: streamPage, EventRecord: eventRecord },
};

/** Returns the files of `schemas/generated/`, by name. */
export const generatedDocuments = (): Map<string, string> => {
  const documents = {
    'openapi.account.json': openApiDocument(account),
    'openapi.event-catcher.json': openApiDocument(eventCatcher),
    'openapi.stream.json': openApiDocument(stream),
    'openrpc.json': openRpcDocument(),
    'asyncapi.json': asyncApiDocument(),
    ...Object.fromEntries(Object.entries(eventCatalogue).map(eventSchema)),
  };
  return new Map(Object.entries(documents).map(([name, document]) => [name, `${JSON.stringify(document, null, 2)}\n`]));
};

/** Returns the file that the header `ce_dataschema` names. */
const eventSchema = ([type, definition]: [string, EventDefinition]): [string, object] => {
  const $id = dataSchemaUrl(type, definition.version);
  return [
    `events/${basename($id)}`,
    { $id, title: type, ...z.toJSONSchema(publishedData(definition), { io: 'input', override: encodingIsNoFormat }) },
  ];
};
