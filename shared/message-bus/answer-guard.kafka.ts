import { brokerConnections, type BrokerConnection } from './kafkajs-internals.kafka.ts';

let isGuarded = false;

/**
 * kafkajs 2.2.4 reads an answer where it arrives, and nobody catches what it throws at one that no broker gives: a port
 * at which something else answers ended the process. Such a connection is broken.
 */
export const guardAnswers = (): void => {
  if (isGuarded) return;
  isGuarded = true;
  const { prototype } = brokerConnections;
  prototype.processData = breakingOnNonsense(prototype.processData);
};

const breakingOnNonsense = (read: BrokerConnection['processData']) =>
  function (this: BrokerConnection, received: Buffer): void {
    try {
      read.call(this, received);
    } catch (cause) {
      this.socket.destroy(new Error('what answers there is no Kafka', { cause }));
    }
  };
