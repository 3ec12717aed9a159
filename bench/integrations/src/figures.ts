/** All figures, in the order of the report. */
import type { Figure } from '@batchwise/bench-harness';
import { kafkaObstacle } from '../../../scripts/services/kafka.js';
import { dataloaderFigure } from './dataloader.js';
import { dynamodbGet, dynamodbPut } from './dynamodb.js';
import { elasticsearchFigure } from './elasticsearch.js';
import { embeddingsFigure } from './embeddings.js';
import { fetchFigure } from './fetch.js';
import { kafka } from './kafka.js';
import { postgresInsert, postgresLookup } from './postgres.js';
import { rabbitmq } from './rabbitmq.js';
import { redisCommands } from './redis-commands.js';
import { snsPublish } from './sns.js';
import { sqsSend } from './sqs.js';

export const figures: readonly Figure[] = [
  postgresInsert,
  postgresLookup,
  dynamodbGet,
  dynamodbPut,
  sqsSend,
  snsPublish,
  // Needs Java and Maven.
  ...(kafkaObstacle() === undefined ? [kafka] : []),
  rabbitmq,
  redisCommands,
  embeddingsFigure,
  elasticsearchFigure,
  fetchFigure,
  dataloaderFigure,
];
