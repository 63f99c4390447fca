import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { type ColumnType, type DataTable, typeOf } from '../tables.ts';
import { type Column, createColumn } from './columns.ts';

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema'];
type SchemaElement = Schema[number];

const elementOf: Record<ColumnType, Omit<SchemaElement, 'name'>> = {
  id: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  int: { type: 'INT32' },
  element: { type: 'INT32' },
  ordinal: { type: 'INT32' },
  micros: { type: 'INT64' },
  bool: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
};

/** Returns the Parquet schema of a table. */
const schemaOf = ({ columns }: DataTable): Schema => [
  { name: 'root', num_children: Object.keys(columns).length },
  ...Object.entries(columns).map(([name, entry]): SchemaElement => {
    const { type, isOptional } = typeOf(entry);
    return { name, ...elementOf[type], repetition_type: isOptional ? 'OPTIONAL' : 'REQUIRED' };
  }),
];

/** Memory that the metadata of a row group needs until its file is finished, in bytes per column. */
const metadataBytes = 650;

/** Parquet file in memory. Rows are collected by column, and encoded a row group at a time. */
export class PartitionFile {
  /** Collected values that are not encoded yet, by column. */
  readonly columns: readonly Column[];
  /** Size of these values as the copy had it, in bytes. */
  pendingSize = 0;
  rows = 0;
  testRows = 0;
  #groups = 0;
  readonly #names: readonly string[];
  readonly #bytes = new ByteWriter();
  readonly #writer: ParquetWriter;

  constructor(table: DataTable, version: number) {
    this.#names = Object.keys(table.columns);
    this.columns = Object.values(table.columns).map((entry) => {
      const { type, isOptional } = typeOf(entry);
      return createColumn(type, isOptional);
    });
    this.#writer = new ParquetWriter({
      writer: this.#bytes,
      schema: schemaOf(table),
      // Statistics would take a tenth of the time, and readers already find the day by its partition.
      statistics: false,
      kvMetadata: [{ key: 'perkwire.schema_version', value: String(version) }],
    });
  }

  /** Number of rows that are not encoded yet. */
  get pendingRows(): number {
    return this.columns[0]?.length ?? 0;
  }

  get encodedBytes(): number {
    return this.#bytes.offset;
  }

  /** Memory of the row groups, which for small ones is mostly their metadata, in bytes. */
  get groupBytes(): number {
    return this.#bytes.offset + this.#groups * this.#names.length * metadataBytes;
  }

  /** Encodes the pending rows as a row group. */
  encode(): void {
    const rows = this.pendingRows;
    if (rows === 0) return;
    this.#writer.write({
      columnData: this.columns.map((column, index) => ({ name: this.#names[index] as string, ...column.take() })),
      rowGroupSize: rows,
    });
    this.pendingSize = 0;
    this.#groups += 1;
  }

  /** Encodes the pending rows, and returns the whole file. */
  finish(): Buffer {
    this.encode();
    this.#writer.finish();
    const { buffer, byteOffset, byteLength } = this.#bytes.getBytes();
    return Buffer.from(buffer, byteOffset, byteLength);
  }
}
