"""Writes tables in the shape of well-known data sets that no package has: their columns, forms of values and references.

The values are made up, and the same in each run.
"""


def table(header, rows):
    lines = [header] + [",".join("" if value is None else str(value) for value in row) for row in rows]
    return "\n".join(lines) + "\n"


def day(number, form="{}-{:02}-{:02}", year=2009):
    return form.format(year + number // 336, number // 28 % 12 + 1, number % 28 + 1)


def chinook():
    """Chinook, as its SQLite file exports it: times at midnight, without an offset."""
    def time(number, year=2009):
        return day(number, year=year) + " 00:00:00"
    yield "Artist.csv", table("ArtistId,Name", [(n, f"Artist {n}") for n in range(1, 276)])
    yield "Album.csv", table("AlbumId,Title,ArtistId", [(n, f"Album {n}", n * 7 % 275 + 1) for n in range(1, 348)])
    yield "Track.csv", table(
        "TrackId,Name,AlbumId,MediaTypeId,GenreId,Composer,Milliseconds,Bytes,UnitPrice",
        [(n, f"Track {n % 3257}", n * 5 % 347 + 1, n % 5 + 1, n % 25 + 1, None if n % 4 else f"Composer {n % 800}",
          200000 + n * 37 % 100000, 6000000 + n * 991, "0.99" if n % 9 else "1.99") for n in range(1, 3504)])
    yield "Employee.csv", table(
        "EmployeeId,LastName,FirstName,Title,ReportsTo,BirthDate,HireDate,City,Country,Email",
        [(n, f"Last{n}", f"First{n}", "General Manager" if n == 1 else "Agent", [None, 1, 2, 2, 2, 1, 6, 6][n - 1],
          time(n * 31, 1962), time(n * 17, 2002), "Calgary", "Canada", f"e{n}@example.org") for n in range(1, 9)])
    yield "Customer.csv", table(
        "CustomerId,FirstName,LastName,Company,City,Country,PostalCode,Phone,Email,SupportRepId",
        [(n, f"F{n}", f"L{n}", None, f"City {n % 53}", "Norway" if n % 7 else "Brazil", f"0{n:03}", f"+47 {n:05}",
          f"c{n}@example.org", n % 3 + 3) for n in range(1, 60)])
    yield "Invoice.csv", table(
        "InvoiceId,CustomerId,InvoiceDate,BillingCity,BillingCountry,Total",
        [(n, n * 11 % 59 + 1, time(n), f"City {n % 53}", "Norway", f"{n % 13}.{n % 10}9") for n in range(1, 413)])
    yield "InvoiceLine.csv", table(
        "InvoiceLineId,InvoiceId,TrackId,UnitPrice,Quantity",
        [(n, n % 412 + 1, n * 13 % 3503 + 1, "0.99", 1) for n in range(1, 2241)])


def sakila():
    """Sakila, as PostgreSQL exports it: letters for truth values, fractions of seconds where they are not zero."""
    def time(number, fraction=""):
        return day(number, year=2005) + f" {number % 24:02}:{number % 60:02}:{number * 7 % 60:02}{fraction}"
    update = "2006-02-15 10:10:00"
    yield "actor.csv", table(
        "actor_id,first_name,last_name,last_update", [(n, f"F{n % 128}", f"L{n % 121}", update) for n in range(1, 201)])
    yield "language.csv", table(
        "language_id,name,last_update", [(n, name, update) for n, name in enumerate(["English", "Italian", "German"], 1)])
    yield "category.csv", table("category_id,name,last_update", [(n, f"Category {n}", update) for n in range(1, 17)])
    yield "film.csv", table(
        "film_id,title,release_year,language_id,original_language_id,rental_duration,rental_rate,length,rating,last_update",
        [(n, f"Film {n}", 2006, 1, n % 3 + 1 if n % 9 == 0 else None, n % 5 + 3, f"{n % 5}.99", n % 140 + 46,
          ["G", "PG", "NC-17", "R"][n % 4], "2006-02-15 05:03:42") for n in range(1, 1001)])
    yield "film_actor.csv", table(
        "actor_id,film_id,last_update",
        [(n % 200 + 1, n * 3 % 1000 + 1, update) for n in range(0, 5462) if n < 1000] +
        [(n % 200 + 1, (n * 3 + n // 1000) % 1000 + 1, update) for n in range(1000, 5000)])
    yield "film_category.csv", table(
        "film_id,category_id,last_update", [(n, n % 16 + 1, "2006-02-15 05:07:09") for n in range(1, 1001)])
    yield "staff.csv", table(
        "staff_id,first_name,last_name,active,username,last_update",
        [(1, "Mike", "Hillyer", "t", "Mike", "2006-05-16 16:13:11.79328"),
         (2, "Jon", "Stephens", "f", "Jon", "2006-05-16 16:13:11.79328")])
    yield "rental.csv", table(
        "rental_id,rental_date,inventory_id,customer_id,return_date,staff_id,last_update",
        [(n, time(n % 300), n * 17 % 4581 + 1, n % 599 + 1, time(n % 300 + 3, ".62") if n % 90 else None, n % 2 + 1,
          "2006-02-16 02:30:53") for n in range(1, 16045)])


def northwind():
    """Northwind, as SQL Server exports it: milliseconds, and an identity of orders and products."""
    def time(number):
        return day(number, year=1996) + " 00:00:00.000"
    yield "categories.csv", table("CategoryID,CategoryName", [(n, f"Category {n}") for n in range(1, 9)])
    yield "suppliers.csv", table("SupplierID,CompanyName", [(n, f"Supplier {n}") for n in range(1, 30)])
    yield "products.csv", table(
        "ProductID,ProductName,SupplierID,CategoryID,UnitPrice,UnitsInStock,Discontinued",
        [(n, f"Product {n}", n % 29 + 1, n % 8 + 1, f"{n}.00", n * 7 % 120, n % 10 // 9) for n in range(1, 78)])
    yield "customers.csv", table(
        "CustomerID,CompanyName,City,Region,Country",
        [(f"C{n:04}", f"Company {n}", f"City {n % 69}", None if n % 3 else "NA", "USA") for n in range(1, 92)])
    yield "employees.csv", table(
        "EmployeeID,LastName,FirstName,HireDate,ReportsTo",
        [(n, f"L{n}", f"F{n}", time(n * 20), [2, None, 2, 2, 2, 5, 5, 2, 5][n - 1]) for n in range(1, 10)])
    yield "orders.csv", table(
        "OrderID,CustomerID,EmployeeID,OrderDate,ShippedDate,Freight",
        [(10247 + n, f"C{n * 7 % 91 + 1:04}", n % 9 + 1, time(n), time(n + 9) if n % 40 else None, f"{n % 90}.38")
         for n in range(1, 831)])
    yield "order_details.csv", table(
        "OrderID,ProductID,UnitPrice,Quantity,Discount",
        [(10248 + n % 830, (n + n // 830 * 19) % 77 + 1, f"{n % 60}.50", n % 50 + 1, "0.05" if n % 3 else "0")
         for n in range(0, 2155)])


def olist():
    """Olist: hexadecimal keys, details with a place, and reviews of several orders."""
    def key(kind, number):
        return f"{kind}{number * 2654435761 % (1 << 32):08x}"
    def time(number):
        return day(number % 600, year=2017) + f" {number % 24:02}:{number % 60:02}:{number % 59:02}"
    yield "olist_customers_dataset.csv", table(
        "customer_id,customer_unique_id,customer_zip_code_prefix,customer_city,customer_state",
        [(key("c", n), key("u", n - n % 9 // 8), f"0{n % 9000 + 1000}", f"city {n % 80}", "SP") for n in range(1, 2001)])
    yield "olist_sellers_dataset.csv", table(
        "seller_id,seller_zip_code_prefix,seller_city", [(key("s", n), f"0{n + 1000}", "sao paulo") for n in range(1, 91)])
    yield "product_category_name_translation.csv", table(
        "product_category_name,product_category_name_english", [(f"categoria_{n}", f"category_{n}") for n in range(1, 71)])
    yield "olist_products_dataset.csv", table(
        "product_id,product_category_name,product_weight_g",
        [(key("p", n), f"categoria_{n % 70 + 1}", n * 5 % 3000) for n in range(1, 801)])
    yield "olist_orders_dataset.csv", table(
        "order_id,customer_id,order_status,order_purchase_timestamp,order_delivered_customer_date,order_estimated_delivery_date",
        [(key("o", n), key("c", n), "delivered" if n % 30 else "shipped", time(n), time(n + 9) if n % 30 else None,
          day(n % 600, year=2017) + " 00:00:00") for n in range(1, 2001)])
    yield "olist_order_items_dataset.csv", table(
        "order_id,order_item_id,product_id,seller_id,shipping_limit_date,price,freight_value",
        [(key("o", n), item, key("p", n * 3 % 800 + 1), key("s", n % 90 + 1), time(n + 5), f"{n % 300}.90", "13.29")
         for n in range(1, 2001) for item in range(1, 2 + (n % 8 == 0))])
    yield "olist_order_payments_dataset.csv", table(
        "order_id,payment_sequential,payment_type,payment_installments,payment_value",
        [(key("o", n), place, "credit_card", n % 10 + 1, f"{n % 300}.33")
         for n in range(1, 2001) for place in range(1, 2 + (n % 20 == 0))])
    yield "olist_order_reviews_dataset.csv", table(
        "review_id,order_id,review_score,review_creation_date",
        [(key("r", n - n % 50 // 49), key("o", n), n % 5 + 1, day(n % 600, year=2017) + " 00:00:00")
         for n in range(1, 1901)])


SHAPES = {
    "Chinook": chinook, "Sakila": sakila, "Northwind": northwind, "Olist": olist,
}
